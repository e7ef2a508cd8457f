"""The agents: scripts and models. Agents from outside come in through `serve`."""
