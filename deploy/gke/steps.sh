# shellcheck shell=bash
# What gke.sh creates and deletes, one function each. Lists and not descriptions are read: a description that fails may
# mean that there is nothing, or that nobody may look.

derive() {
  TAG=${TAG:-$(sed -n 's/^version = "\(.*\)"$/\1/p' "$ROOT/pyproject.toml" | head -n 1)}
  HOST=$REGION-docker.pkg.dev
  IMAGES=$HOST/$PROJECT/$REPOSITORY
  TRAINER=$SERVICE_ACCOUNT@$PROJECT.iam.gserviceaccount.com
  NODES=$NODE_ACCOUNT@$PROJECT.iam.gserviceaccount.com
  WORKLOAD="serviceAccount:$PROJECT.svc.id.goog[$NAMESPACE/$SERVICE_ACCOUNT]"
  SERVICES=(artifactregistry.googleapis.com container.googleapis.com iam.googleapis.com iamcredentials.googleapis.com
    storage.googleapis.com)
}

cloud() { gcloud "$@" "--project=$PROJECT" --quiet; }
alter() { change gcloud "$@" "--project=$PROJECT" --quiet; }

# Whether a line is among those that a command prints. A command that fails ends the script.
among() {
  local line=$1 lines
  shift
  lines=$("$@") || fail "\`$*\` failed: see above"
  grep -Fqx -- "$line" <<< "$lines"
}

# Whether something exists whose API is enabled: that of an API which is not enabled cannot be listed.
exists() {
  local service=$1
  shift
  grep -Fqx "$service" <<< "$ENABLED" && among "$@"
}

look() { ENABLED=$(cloud services list '--format=value(config.name)' --enabled) || fail "cannot list services of $PROJECT"; }

has_account() { exists iam.googleapis.com "$1" cloud iam service-accounts list '--format=value(email)'; }
has_repository() {
  exists artifactregistry.googleapis.com "$REPOSITORY" \
    cloud artifacts repositories list "--location=$REGION" '--format=value(name.basename())'
}
has_bucket() { exists storage.googleapis.com "$BUCKET" cloud storage buckets list '--format=value(name)'; }
has_rules() {
  exists storage.googleapis.com "$BUCKET" \
    cloud storage buckets list '--filter=lifecycle_config:*' '--format=value(name)'
}
has_cluster() {
  exists container.googleapis.com "$CLUSTER" cloud container clusters list "--zone=$ZONE" '--format=value(name)'
}
has_pool() {
  has_cluster && among spot \
    cloud container node-pools list "--cluster=$CLUSTER" "--zone=$ZONE" '--format=value(name)'
}


# Whether a member has a role: GROUP RESOURCE ROLE MEMBER [FLAG], as in projects my-project roles/viewer user:jane
has_role() {
  local group resource=$2 role=$3 member=$4
  read -ra group <<< "$1"
  shift 4
  among "$role"$'\t'"$member" cloud "${group[@]}" get-iam-policy "$resource" "$@" \
    '--flatten=bindings[].members' '--format=value(bindings.role,bindings.members)'
}

# Gives a role or takes it away: THERE add|remove, then as has_role. THERE says whether the resource exists.
bind() {
  local there=$1 verb=$2 group resource=$4 role=$5 member=$6 wanted=no
  read -ra group <<< "$3"
  if $there && has_role "${@:3}"; then wanted=yes; fi
  [ "$verb/$wanted" = add/no ] || [ "$verb/$wanted" = remove/yes ] || return 0
  # A policy may have roles on conditions, and gcloud asks which is meant.
  [ "$3" != projects ] || set -- "$@" --condition=None
  alter "${group[@]}" "$verb-iam-policy-binding" "$resource" "${@:7}" "--role=$role" "--member=$member"
}

# The roles that do not go away together with what they are for.
bind_nodes() {
  bind true "$1" projects "$PROJECT" roles/container.defaultNodeServiceAccount "serviceAccount:$NODES"
}
bind_trainer() { bind has_bucket "$1" 'storage buckets' "gs://$BUCKET" roles/storage.objectUser "serviceAccount:$TRAINER"; }

create_account() {
  has_account "$2" || alter iam service-accounts create "$1" "--display-name=$3"
}

create_repository() {
  has_repository || alter artifacts repositories create "$REPOSITORY" "--location=$REGION" --repository-format=docker
}

create_bucket() {
  has_bucket || alter storage buckets create "gs://$BUCKET" "--location=$REGION" \
    --uniform-bucket-level-access --public-access-prevention
  # A bucket may be there already, with rules of its owner.
  if has_rules; then return 0; fi
  lifecycle > "$WORK/lifecycle.json"
  alter storage buckets update "gs://$BUCKET" "--lifecycle-file=$WORK/lifecycle.json"
}

# Uploads that were interrupted cost money and cannot be seen.
lifecycle() {
  local delete=''
  [ -z "$DELETE_ARTIFACTS_AFTER" ] \
    || delete=",{\"action\":{\"type\":\"Delete\"},\"condition\":{\"age\":$DELETE_ARTIFACTS_AFTER}}"
  echo "{\"rule\":[{\"action\":{\"type\":\"AbortIncompleteMultipartUpload\"},\"condition\":{\"age\":7}}$delete]}"
}

create_cluster() {
  has_cluster || alter container clusters create "$CLUSTER" "--zone=$ZONE" --release-channel=regular \
    "--machine-type=$SYSTEM_MACHINE" --num-nodes=1 "--service-account=$NODES" \
    "--workload-pool=$PROJECT.svc.id.goog" --enable-dataplane-v2 --autoscaling-profile=optimize-utilization
  # The taint keeps everything else off these nodes, so that they can go when no job needs them.
  has_pool || alter container node-pools create spot "--cluster=$CLUSTER" "--zone=$ZONE" --spot \
    "--machine-type=$TRAINING_MACHINE" --enable-autoscaling --num-nodes=0 --min-nodes=0 "--max-nodes=$TRAINING_NODES" \
    --node-taints=cloud.google.com/gke-spot=true:NoSchedule "--service-account=$NODES" --workload-metadata=GKE_METADATA
}

# After the cluster: only then Google Cloud knows its workload pool, and new accounts, everywhere.
give_roles() {
  bind_nodes add
  bind_trainer add
  bind has_repository add 'artifacts repositories' "$REPOSITORY" roles/artifactregistry.reader \
    "serviceAccount:$NODES" "--location=$REGION"
  bind "has_account $TRAINER" add 'iam service-accounts' "$TRAINER" roles/iam.workloadIdentityUser "$WORKLOAD"
}

push_images() {
  local name image
  change gcloud auth configure-docker "$HOST" --quiet
  for name in operator tensorboard trainer; do
    image=$IMAGES/qtj-$name:$TAG
    if ! docker manifest inspect "$image" > /dev/null 2>&1; then
      change docker build --platform=linux/amd64 "--file=$ROOT/Dockerfile.$name" "--tag=$image" "$ROOT"
      change docker push "$image"
    fi
  done
}

install_operator() {
  kubectl kustomize "$ROOT/deploy/kustomize" | sed "s|\(image[:=] *\)localhost/\(.*\):.*|\1$IMAGES/\2:$TAG|" > "$WORK/operator.yaml"
  namespace > "$WORK/namespace.yaml"
  alter container clusters get-credentials "$CLUSTER" "--zone=$ZONE"
  change kubectl apply "--filename=$WORK/operator.yaml"
  change kubectl apply "--filename=$WORK/namespace.yaml"
  change kubectl --namespace=qtj-system rollout status deployment/qtj-operator --timeout=5m
}

namespace() {
  cat << END
apiVersion: v1
kind: Namespace
metadata:
  name: $NAMESPACE
  labels: {pod-security.kubernetes.io/enforce: restricted}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: $SERVICE_ACCOUNT
  namespace: $NAMESPACE
  annotations: {iam.gke.io/gcp-service-account: $TRAINER}
END
}

create_all() {
  look
  local service
  for service in "${SERVICES[@]}"; do
    grep -Fqx "$service" <<< "$ENABLED" || alter services enable "$service"
  done
  [ "$MODE" = plan ] || look
  create_account "$NODE_ACCOUNT" "$NODES" 'nodes of QuantumTrainingJobs'
  create_account "$SERVICE_ACCOUNT" "$TRAINER" 'QuantumTrainingJobs'
  create_repository
  create_bucket
  create_cluster
  give_roles
  push_images
  install_operator
  [ "$MODE" = plan ] || say_what_is_next
}

say_what_is_next() {
  cat << END

The cluster is ready. To use it:

  gcloud container clusters get-credentials $CLUSTER --zone=$ZONE --project=$PROJECT
  kubectl -n $NAMESPACE apply -f job.yaml

Write into your job:

  artifacts:
    uri: gs://$BUCKET/NAME
  template:
    spec:
      serviceAccountName: $SERVICE_ACCOUNT
      nodeSelector: {cloud.google.com/gke-spot: "true"}
      tolerations: [{key: cloud.google.com/gke-spot, operator: Exists}]
      containers:
        - name: trainer
          image: $IMAGES/qtj-trainer:$TAG
END
}

remove_all() {
  look
  if has_cluster; then alter container clusters delete "$CLUSTER" "--zone=$ZONE"; fi
  # A role of a deleted account would stay in the policy, under a name that nobody knows.
  bind_nodes remove
  bind_trainer remove
  if has_repository; then alter artifacts repositories delete "$REPOSITORY" "--location=$REGION"; fi
  local account
  for account in "$TRAINER" "$NODES"; do
    if has_account "$account"; then alter iam service-accounts delete "$account"; fi
  done
  if ! has_bucket; then return; fi
  if [ "$DELETE_BUCKET" = yes ]; then
    alter storage rm "gs://$BUCKET" --recursive
  else
    echo "gs://$BUCKET stays, with all artifacts: gke.sh down --delete-bucket deletes it"
  fi
}
