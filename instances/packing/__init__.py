"""Packing virtual machines onto servers: fewest servers, or fair shares (Xu and Yu 2014)."""

from ..problem.registry import CsvForm, Problem
from .answer_table import answer_table, read_table
from .game import scale
from .instance import Packing, Placement, check

PROBLEM = Problem(
    title="virtual machines on servers",
    instance=Packing,
    solutions=(Placement,),
    check=check,
    answer_table=answer_table,
    read_table=read_table,
    answer_columns="server,VM[,count][,class]",
    generators={
        "vm-types": "instances.packing.generators:vm_types",
        "caprara-toth": "instances.packing.generators:caprara_toth",
        "few-types": "instances.packing.generators:few_types",
        "cluster": "instances.packing.generators:cluster",
        "paper-example": "instances.packing.generators:paper_example",
    },
    formats={
        "vms-csv": "instances.packing.csv_reader:vms_csv",
        "vbp": "instances.packing.formats:vbp",
        "azure-vm": "instances.packing.formats:azure_vm",
        "alibaba-openb": "instances.packing.formats:alibaba_openb",
        "mig": "instances.packing.mig:mig",
    },
    csv_form=CsvForm(
        "vms-csv", "vms.csv", ("name", "cpu"), "name,cpu,mem[,count]", enough=("name",)
    ),
    scale=scale,
)

__all__ = ["PROBLEM", "Packing", "Placement", "check"]
