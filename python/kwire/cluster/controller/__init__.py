"""The controller: one broker of the cluster that keeps partition states, elects leaders and moves replicas.

What may happen to a topic is decided by pure functions of frozen data (``state`` and the modules that take it);
``controller`` runs them behind one queue, and writes what they decide under the fence of its epoch.
"""
