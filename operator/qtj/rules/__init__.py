"""What Kubernetes takes in a pod template, rule by rule."""
