"""Cases S: what a spec may say, and what it becomes."""

import json

import pytest

from cases import CLUSTER, MAIN, all_steps, image_spec, pod, refused, rendered, replicas, states, violations
from daemon import reason_name, spec, submit
from trainer.v1 import job_pb2, service_pb2


def wrong(desk, s):
    """The fields that Submit objects to."""
    return violations(refused(submit, desk, s, validate_only=True))


@pytest.mark.parametrize("runtime", MAIN)
def test_s03_main_container_has_the_name_that_the_operator_wants(desk, runtime):
    """Whatever the runtime, the one container of a pod carries the name by which its operator finds it."""
    for role in replicas(rendered(desk, image_spec(runtime))).values():
        assert [c["name"] for c in role["template"]["spec"]["containers"]] == [MAIN[runtime][1]]


def test_s04_wrong_combinations_of_roles(desk):
    """A role that is foreign, doubled or missing is named together with what would be right."""

    def roles(runtime, **counts):
        s = job_pb2.JobSpec(runtime=runtime)
        for name, count in counts.items():
            s.roles.add(name=name, command=["true"]).replicas.value = count
        return s

    assert "worker" in wrong(desk, roles("pytorch", master=1, ps=1))["roles[1].name"]
    assert "roles[0].replicas" in wrong(desk, roles("pytorch", master=2))
    assert "evaluator" in wrong(desk, roles("tensorflow", worker=1, Evaluater=1))["roles[1].name"]
    assert wrong(desk, roles("tensorflow", chief=1, master=1, worker=1))
    assert wrong(desk, roles("xgboost", worker=2))
    assert "roles[0].name" in wrong(desk, roles("jax", master=1))
    assert "roles[0].replicas" in wrong(desk, roles("mpi", launcher=2))


def test_s05_a_role_of_none_is_left_out(desk):
    """Zero workers beside a master are no workers at all, here and on a cluster."""
    s = image_spec()
    s.roles.add(name="worker", image="registry/train:1", command=["true"]).replicas.value = 0
    assert set(replicas(rendered(desk, s))) == {"Master"}
    (local,) = desk.Render(service_pb2.RenderRequest(spec=s, target="local")).rendered
    assert [p["role"] for p in json.loads(local.json)["processes"]] == ["master"]


@pytest.mark.parametrize("text", ["1.0", "1000m", "1e0", "1"])
def test_s06_a_whole_gpu_however_it_is_written(desk, text):
    """Every spelling of one is one."""
    s = image_spec()
    s.roles[0].resources.extended["example.com/gpu"] = text
    assert desk.Submit(service_pb2.SubmitRequest(spec=s, validate_only=True)).job.name == "job"


def test_s07_quantities_arrive_as_they_were_written(desk):
    """No quantity goes through a number on its way."""
    s = image_spec()
    s.roles[0].resources.memory, s.roles[0].resources.cpu = "1.5Gi", "500m"
    limits = pod(rendered(desk, s), "Master")["containers"][0]["resources"]["limits"]
    assert (limits["memory"], limits["cpu"]) == ("1.5Gi", "500m")
    for bad in ["20g", "1e3Mi", "1.1Gi"]:
        s.roles[0].resources.memory = bad
        assert "roles[0].resources.memory" in wrong(desk, s), bad


def test_s08_env_values_are_texts_in_the_object(desk):
    """What looks like a number, a truth or nothing stays the text that it was."""
    values = ["14", "1e-05", "0123", "yes", "null", "", "  x "]
    s = image_spec()
    for i, value in enumerate(values):
        s.roles[0].env.add(name=f"V{i}", value=value)
    env = {e["name"]: e.get("value") for e in pod(rendered(desk, s), "Master")["containers"][0]["env"]}
    assert [env[f"V{i}"] for i in range(len(values))] == values


@pytest.mark.parametrize(
    "runtime,name",
    [("pytorch", "MASTER_PORT"), ("pytorch", "WORLD_SIZE"), ("pytorch", "PET_NNODES"), ("tensorflow", "TF_CONFIG"), ("process", "RANK")],
)
def test_s09_variables_of_the_runtime_are_refused_by_name_only(desk, runtime, name):
    """The variable is named, its value never."""
    s = image_spec(runtime) if runtime in MAIN else spec("true")
    s.roles[0].env.add(name=name, value="hidden-value")
    error = refused(submit, desk, s)
    assert name in violations(error)["roles[0].env[0].name"]
    assert "hidden-value" not in error.details() + str(violations(error))


def test_s10_texts_survive_the_object(desk):
    """A parser that is not ours reads the same arguments from the rendered object."""
    args = ["--title=あ", '--json={"a": "b\\n"}', "it's \"quoted\"", "a\r\n\tb\n" * 40, ""]
    s = image_spec()
    s.roles[0].args.extend(args)
    assert pod(rendered(desk, s), "Master")["containers"][0]["args"] == args


def test_s12_dollars_are_neither_added_nor_taken(desk):
    """Whatever a shell or Kubernetes would expand goes through as it is."""
    s = image_spec()
    s.roles[0].args.extend(["$(hostname)", "$$(A)", "`id`"])
    s.roles[0].env.add(name="A", value="$(OTHER)")
    main = pod(rendered(desk, s), "Master")["containers"][0]
    assert main["args"] == ["$(hostname)", "$$(A)", "`id`"] and main["env"][0]["value"] == "$(OTHER)"


def test_s13_shared_memory_is_one_volume_of_its_role(desk):
    """The size becomes one volume in memory at /dev/shm, of the role that asked, once."""
    s = image_spec()
    s.roles.add(name="worker", image="registry/train:1", command=["true"], shm_size="8Gi").resources.memory = "16Gi"
    thing = rendered(desk, s)
    worker = pod(thing, "Worker")
    assert [v["emptyDir"] for v in worker["volumes"]] == [{"medium": "Memory", "sizeLimit": "8Gi"}]
    assert [m["mountPath"] for m in worker["containers"][0]["volumeMounts"]] == ["/dev/shm"]
    assert "volumes" not in pod(thing, "Master")


def test_s14_placement_belongs_to_its_role(desk):
    """Selector, toleration and pull secret of one role are in the pod of that role and in no other."""
    s = image_spec()
    worker = s.roles.add(name="worker", image="registry/train:1", command=["true"], image_pull_secrets=["pull"])
    worker.node_selector["pool"] = "gpu"
    worker.tolerations.add(key="nvidia.com/gpu", operator="Exists")
    thing = rendered(desk, s)
    made, other = pod(thing, "Worker"), pod(thing, "Master")
    assert made["nodeSelector"] == {"pool": "gpu"} and made["imagePullSecrets"] == [{"name": "pull"}]
    assert made["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    assert not {"nodeSelector", "tolerations", "imagePullSecrets"} & set(other)
    worker.tolerations[0].key, worker.tolerations[0].operator = "", "Equal"
    assert any(f.startswith("roles[1].tolerations[0]") for f in wrong(desk, s))


def test_s15_annotations_of_pods_are_texts_in_the_pod(desk):
    """A pod's annotation is in the pod's template, not on the job, and stays a text."""
    s = image_spec()
    s.roles[0].pod_annotations["sidecar.istio.io/inject"] = "false"
    thing = rendered(desk, s)
    assert replicas(thing)["Master"]["template"]["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false"}
    assert "sidecar.istio.io/inject" not in thing["metadata"].get("annotations", {})


@pytest.mark.parametrize("runtime", MAIN)
def test_s16_policies_are_said_where_the_operator_reads_them(desk, runtime):
    """Restart and clean-up are always written, at the level at which that kind has them."""
    s = image_spec(runtime)
    s.run_policy.clean_pods = job_pb2.ALL
    s.run_policy.backoff_limit.value = 1
    s.roles[0].restart_policy = job_pb2.NEVER
    thing = rendered(desk, s)
    policy = thing["spec"]["runPolicy"]
    assert (policy["cleanPodPolicy"], policy["backoffLimit"]) == ("All", 1)
    for role in replicas(thing).values():
        assert role["restartPolicy"] == "Never" and "restartPolicy" not in role["template"]["spec"]


@pytest.mark.parametrize("code,restarts,why", [(137, 2, "BACKOFF_LIMIT_EXCEEDED"), (1, 0, "NONZERO_EXIT")])
def test_s17_exit_code_restarts_within_the_limit(desk, code, restarts, why):
    """Codes from 128 are tried again until the limit is used up, others end the job at once."""
    s = spec(f"exit {code}")
    s.roles[0].restart_policy = job_pb2.EXIT_CODE
    s.run_policy.backoff_limit.value = 2
    _, steps = all_steps(desk, s)
    assert states(steps)[-1] == "FAILED"
    assert (reason_name(steps[-1]), steps[-1].restarts, steps[-1].exit.exit_code) == (why, restarts, code)
    s.run_policy.backoff_limit.value = -1
    assert "run_policy.backoff_limit" in wrong(desk, s)


def test_s18_ports_have_names_and_numbers_of_their_own(desk):
    """Two ports share neither name nor number."""
    for first, second, field in [(("a", 80), ("a", 81), "name"), (("a", 80), ("b", 80), "port"), (("a", 80), ("Upper", 81), "name")]:
        s = spec("true")
        for name, port in (first, second):
            s.roles[0].ports.add(name=name, port=port)
        assert f"roles[0].ports[1].{field}" in wrong(desk, s)


def test_s19_times_that_make_no_sense(desk):
    """A deadline is at least a second; a time to live may be none but never less."""
    for field, seconds, good in [
        ("active_deadline", 0, False),
        ("active_deadline", -5, False),
        ("active_deadline", 1, True),
        ("active_deadline", 1 << 40, False),
        ("ttl_after_finished", -1, False),
        ("ttl_after_finished", 0, True),
    ]:
        s = spec("true")
        getattr(s.run_policy, field).FromSeconds(seconds)
        if good:
            assert submit(desk, s, validate_only=True).job.uid == ""
        else:
            assert f"run_policy.{field}" in wrong(desk, s), seconds


def test_s21_init_containers_keep_their_order(desk):
    """They run in the order in which they were given, in the pods of their role."""
    s = image_spec()
    for name in ["fetch-data", "check-data", "warm-up"]:
        s.roles[0].init_containers.add(name=name, image="registry/tool:1", command=["true"])
    assert [c["name"] for c in pod(rendered(desk, s), "Master")["initContainers"]] == ["fetch-data", "check-data", "warm-up"]
    s.roles[0].init_containers[1].name = "fetch-data"
    assert "roles[0].init_containers[1].name" in wrong(desk, s)


def test_s22_a_cluster_needs_an_image(desk):
    """What its operator would only complain about in an event is refused before anything is written."""
    s = image_spec("mpi")
    s.roles[0].image = ""
    (one,) = desk.Render(service_pb2.RenderRequest(spec=s, target=CLUSTER)).rendered
    assert one.json == "" and "roles[0].image" in one.error
