# Written by `python -m scripts.stubs`.

from kwire_cluster.local.local_cluster import LocalCluster as LocalCluster

__version__: str
