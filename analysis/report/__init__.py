"""Reporting: tables, pictures, and the page made of rows."""
