"""An API's operations as a server of the Model Context Protocol."""
