"""A job broker that lives in a MySQL database, and whose dead letters can be counted on."""

__version__ = "0.1.0"
