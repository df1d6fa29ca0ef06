"""`kubectl qtj` as a program."""

from qtj import kubectl_plugin

if __name__ == "__main__":
    kubectl_plugin()
