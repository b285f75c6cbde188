"""Places: folders of this machine, object stores, and HDFS, under the spelling that each library expects."""
