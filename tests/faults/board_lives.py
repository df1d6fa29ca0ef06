"""Random lives of jobs that have a TensorBoard now and then."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from qtj_operator.api.names import tensorboard_name
from qtj_operator.controller.client import Resource
from tests.faults.admission import Denial
from tests.faults.lives import AnyLife
from tests.faults.lives_drawn import works
from tests.faults.lives_steps import there_are, there_is_a_job
from tests.faults.world import KEY
from tools.pod_status import NAMESPACE

DEPLOYMENTS = Resource.DEPLOYMENTS
BOARD = tensorboard_name(KEY[1])


class BoardLife(AnyLife):
    """As any life, and users and others have to do with TensorBoard."""

    @there_is_a_job
    @rule(wanted=st.sampled_from([True, True, False]), then=works)
    def sets_tensorboard(self, *, wanted: bool, then: str) -> None:
        self.world.edit(tensorboard={} if wanted else None)
        self._go_on(then)

    @there_are(DEPLOYMENTS)
    @rule(replicas=st.sampled_from([0, 1, 3]), then=works)
    def scales_it(self, replicas: int, *, then: str) -> None:
        self.store.update(DEPLOYMENTS, NAMESPACE, BOARD, lambda board: board["spec"].update(replicas=replicas))
        self._go_on(then)

    @there_are(DEPLOYMENTS)
    @rule(then=works)
    def deletes_it(self, *, then: str) -> None:
        self.store.delete(DEPLOYMENTS, NAMESPACE, BOARD)
        self._go_on(then)

    @precondition(lambda life: any(each["metadata"]["name"] == BOARD for each in life.world.every(Resource.SERVICES)))
    @rule(edit=st.booleans(), then=works)
    def spoils_its_service(self, *, edit: bool, then: str) -> None:
        address = (Resource.SERVICES, NAMESPACE, BOARD)
        if edit:
            self.store.update(*address, lambda service: service["spec"].update(selector={}, ports=[]))
        else:
            self.store.delete(*address)
        self._go_on(then)

    @there_is_a_job
    @rule(denial=st.sampled_from(Denial), seconds=st.sampled_from([0, 14, 61, 200]), then=works)
    def no_deployment_is_admitted(self, denial: Denial, seconds: int, *, then: str) -> None:
        """For a while."""
        gatekeeper = self.world.gatekeeper
        gatekeeper.resources, gatekeeper.denial = {DEPLOYMENTS}, denial
        self.world.run(self.world.time_passes(seconds))
        gatekeeper.resources, gatekeeper.denial = {Resource.PODS}, None
        self._go_on(then)
