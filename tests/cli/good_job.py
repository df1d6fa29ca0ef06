"""A job that is valid, as its author writes it, into which tests put mistakes."""

__all__ = ["EITHER", "GOOD", "INFERENCE"]

EITHER = "quantumtraining.dev/v1beta1 or quantumtraining.dev/v1alpha1"
GOOD = """\
apiVersion: quantumtraining.dev/v1beta1
kind: QuantumTrainingJob
metadata:
  name: qcnn
spec:
  strategy: MultiWorkerMirrored
  circuit:
    qubits: 8
  artifacts:
    uri: gs://bucket/qcnn
  replicaSpecs:
    Worker:
      replicas: 2
  template:
    spec:
      containers:
        - name: trainer
          image: registry.example/mine:1
          resources:
            limits: {memory: 2Gi}
          env:
            - name: COLOR
              value: blue
"""

INFERENCE = """\
  inference:
    template:
      spec:
        containers:
          - name: judge
            image: theirs:1
            resources: {limits: {memory: 2Gi}}
"""
