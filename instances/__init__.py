"""Layer 1: instances, answers, the checker of an answer, file formats and generators."""
