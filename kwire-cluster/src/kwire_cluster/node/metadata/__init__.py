"""The metadata of the cluster: its cache, and the updates of the controller."""
