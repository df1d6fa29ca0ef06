"""`qtj doctor`: checks of this machine, its software, a cluster and a bucket."""
