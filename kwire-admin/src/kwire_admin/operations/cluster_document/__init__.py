"""A cluster in a file: what `kafka configs export` writes, and `diff` and `apply` compare with a cluster.

    kafka configs export > cluster.yaml
      state.read_state          cluster -> DocumentState, section by section
      document.write            DocumentState -> YAML or JSON
    kafka configs apply cluster.yaml
      document.read             YAML or JSON -> DocumentState; checks everything that needs no cluster
      differences.compare       two states -> DocumentDifferences in the order of their application; pure
      steps.refusals            the cluster checks what would be changed, without changing it
      application.apply         Differences -> requests; each step is in the journal before it is sent

Nothing is stored between two runs: a plan is the difference to the cluster as it is. So a run after an interrupted one
continues it.
"""
