"""Operations on a cluster: verbs such as `kafka topics create`.

An operation is one typed function. `verbs/<noun>.py` has the verbs of the command, the shell, and HTTP, which return
rows. kwire-zookeeper-tools has tools, which print lines.
"""
