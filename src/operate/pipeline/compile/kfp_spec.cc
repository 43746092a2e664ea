#include "operate/pipeline/compile/kfp_spec.h"

#include <functional>

#include "base/core/text.h"
#include "operate/pipeline/compile/errors.h"
#include "operate/pipeline/published.h"

namespace hone {
namespace {

using compile::identifier;

// Makes the model a version of Vertex's model registry, and puts it on the endpoint of its name.
constexpr const char* kVertexDeploy = R"sh(set -eu
name="$1"; model="$2"; image="$3"; project="$4"; region="$5"; machine="$6"; gpu="$7"; gpus="$8"; out="$9"; flags="${10}"
at="--project=$project --region=$region"
known=$(gcloud ai models list $at --filter="displayName=$name" --format='value(name)' --limit=1)
gcloud ai models upload $at --display-name="$name" ${known:+--parent-model="$known"} --artifact-uri="$model" \
  --container-image-uri="$image" --container-ports=8080 --container-predict-route=/predict \
  --container-health-route=/health ${flags:+--container-args="$flags"}
id=$(gcloud ai models list $at --filter="displayName=$name" --format='value(name)' --limit=1)
endpoint=$(gcloud ai endpoints list $at --filter="displayName=$name" --format='value(name)' --limit=1)
if [ -z "$endpoint" ]; then
  gcloud ai endpoints create $at --display-name="$name"
  endpoint=$(gcloud ai endpoints list $at --filter="displayName=$name" --format='value(name)' --limit=1)
fi
gcloud ai endpoints deploy-model "$endpoint" $at --model="$id" --display-name="$name" --traffic-split=0=100 \
  ${machine:+--machine-type="$machine"} ${gpu:+--accelerator=type="$gpu",count="$gpus"}
mkdir -p "$(dirname "$out")"
printf %s "$endpoint" > "$out"
)sh";

// A deployment and a service that answer in the pipeline's namespace.
constexpr const char* kKubernetesDeploy = R"sh(set -eu
name="$1"; model="$2"; image="$3"; gpus="$4"; out="$5"; flags="$6"
limits=""
if [ "$gpus" != 0 ]; then limits="resources: {limits: {nvidia.com/gpu: $gpus}}"; fi
kubectl apply -f - <<END
apiVersion: apps/v1
kind: Deployment
metadata: {name: "$name", labels: {app: "$name"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: "$name"}}
  template:
    metadata: {labels: {app: "$name"}}
    spec:
      containers:
      - name: serve
        image: "$image"
        command: [hone, serve, "$model", --host, "0.0.0.0", --port, "8080"$flags]
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /health, port: 8080}}
        $limits
---
apiVersion: v1
kind: Service
metadata: {name: "$name"}
spec:
  selector: {app: "$name"}
  ports: [{port: 80, targetPort: 8080}]
END
kubectl rollout status "deployment/$name" --timeout=15m
mkdir -p "$(dirname "$out")"
printf %s "$name" > "$out"
)sh";

std::string upper_gpu(std::string type) {
  for (char& c : type) c = c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return type;
}

// A list as gcloud takes one whose words may hold commas.
std::string gcloud_list(const std::vector<std::string>& words) {
  return words.empty() ? "" : "^|^" + join(words, "|");
}
// The rest of a list in YAML.
std::string yaml_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += ", " + dump_json(OrderedJson(word));
  return text;
}

std::string artifact_type(const PipelineStep& step) {
  const std::string what = hone_command(step.command);
  return what == "train"     ? "system.Model"
         : what == "prepare" ? "system.Dataset"
                             : "system.Artifact";
}

class KfpCompiler {
 public:
  KfpCompiler(const Pipeline& pipeline, const CompileOptions& options, bool vertex)
      : p_(pipeline), o_(options), vertex_(vertex) {}

  Result<CompiledPipeline> compile() {
    OrderedJson tasks = OrderedJson::object(), components = OrderedJson::object(),
                executors = OrderedJson::object(), pods = OrderedJson::object();
    for (const PipelineStep& step : p_.steps) {
      tasks[step.name] = task(step);
      components["comp-" + step.name] = component(step);
      executors["exec-" + step.name]["container"] = HONE_TRY(container(step));
      if (const OrderedJson pod = node_selector(step); !pod.is_null())
        pods["exec-" + step.name]["nodeSelector"]["labels"] = pod;
      if (step.timeout_s > 0)
        out_.notes.push_back(fmt::format("step '{}': a task has no timeout here", step.name));
      if (step.machine.node_count > 1)
        out_.notes.push_back(
            fmt::format("step '{}' asks for {} machines: one is used, because one process trains",
                        step.name, step.machine.node_count));
    }
    std::string name = to_lower(p_.name);
    out_.document = {{"pipelineInfo", {{"name", name}}},
                     {"schemaVersion", "2.1.0"},
                     {"sdkVersion", "kfp-2.17.0"}};
    if (!o_.root.empty()) out_.document["defaultPipelineRoot"] = o_.root;
    out_.document["root"]["dag"]["tasks"] = tasks;
    out_.document["components"] = components;
    out_.document["deploymentSpec"]["executors"] = executors;
    if (!pods.empty())
      out_.platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"] = pods;
    return std::move(out_);
  }

 private:
  static std::string parameter(const std::string& step, const std::string& member) {
    return identifier(step) + "__" + identifier(member);
  }
  bool is_number(const std::string& step, const std::string& member) const {
    for (const auto& [name, number] : compile::results_of(p_, step))
      if (name == member) return number;
    return false;
  }
  const char* type_of(const std::string& step, const std::string& member) const {
    return is_number(step, member) ? "NUMBER_DOUBLE" : "STRING";
  }
  // The folder that a deployment serves: the training step's.
  std::string model_step() const {
    for (const PipelineStep& s : p_.steps)
      if (artifact_type(s) == "system.Model") return s.name;
    return "";
  }
  compile::Reads reads(const PipelineStep& step) const {
    compile::Reads r = compile::reads_of(step);
    const std::string model = model_step();
    if (compile::deploys(step) && !model.empty() &&
        std::find(r.folders.begin(), r.folders.end(), model) == r.folders.end())
      r.folders.push_back(model);
    return r;
  }

  OrderedJson task(const PipelineStep& step) const {
    OrderedJson t = {{"taskInfo", {{"name", step.name}}},
                     {"componentRef", {{"name", "comp-" + step.name}}},
                     {"cachingOptions", OrderedJson::object()}};
    if (step.reuse) t["cachingOptions"]["enableCache"] = true;
    const compile::Reads read = reads(step);
    std::vector<std::string> needs = step.needs;
    for (const std::string& from : read.folders)
      if (std::find(needs.begin(), needs.end(), from) == needs.end()) needs.push_back(from);
    if (!needs.empty()) t["dependentTasks"] = needs;
    for (const std::string& from : read.folders)
      t["inputs"]["artifacts"][identifier(from)]["taskOutputArtifact"] = {
          {"producerTask", from}, {"outputArtifactKey", "out"}};
    for (const auto& [from, member] : read.results)
      t["inputs"]["parameters"][parameter(from, member)]["taskOutputParameter"] = {
          {"producerTask", from}, {"outputParameterKey", identifier(member)}};
    if (step.retries > 0)
      t["retryPolicy"] = {{"maxRetryCount", step.retries},
                          {"backoffDuration", "30s"},
                          {"backoffFactor", 2.0},
                          {"backoffMaxDuration", "3600s"}};
    if (!step.when.empty()) {
      const StepCondition c = parse_condition(step.when).value();
      const std::string left =
          fmt::format("inputs.parameter_values['{}']", parameter(c.left.name, c.left.member));
      t["triggerPolicy"]["condition"] =
          fmt::format("{} {} {}", left, c.op,
                      is_number(c.left.name, c.left.member) ? c.right : "'" + c.right + "'");
    }
    return t;
  }

  OrderedJson component(const PipelineStep& step) const {
    OrderedJson c = {{"executorLabel", "exec-" + step.name}};
    const compile::Reads read = reads(step);
    const auto artifact = [&](const std::string& name) -> OrderedJson {
      return {{"artifactType",
               {{"schemaTitle", artifact_type(*p_.find(name))}, {"schemaVersion", "0.0.1"}}}};
    };
    for (const std::string& from : read.folders)
      c["inputDefinitions"]["artifacts"][identifier(from)] = artifact(from);
    for (const auto& [from, member] : read.results)
      c["inputDefinitions"]["parameters"][parameter(from, member)] = {
          {"parameterType", type_of(from, member)}};
    if (read.out) c["outputDefinitions"]["artifacts"]["out"] = artifact(step.name);
    for (const auto& [member, number] : compile::results_of(p_, step.name))
      c["outputDefinitions"]["parameters"][identifier(member)] = {
          {"parameterType", type_of(step.name, member)}};
    if (compile::deploys(step))
      c["outputDefinitions"]["parameters"]["endpoint"] = {{"parameterType", "STRING"}};
    return c;
  }

  Result<OrderedJson> container(const PipelineStep& step) {
    OrderedJson c;
    if (compile::deploys(step)) return deployment(step);
    const auto meaning = [&](const StepReference& r) -> std::string {
      switch (r.kind) {
        case StepReference::kOut:
          return "{{$.outputs.artifacts['out'].path}}";
        case StepReference::kFolder:
          return fmt::format("{{{{$.inputs.artifacts['{}'].path}}}}", identifier(r.name));
        case StepReference::kResult:
          return fmt::format("{{{{$.inputs.parameters['{}']}}}}", parameter(r.name, r.member));
        default:
          return "{{$.pipeline_job_name}}";
      }
    };
    const auto file = [](const std::string& member) {
      return fmt::format("{{{{$.outputs.parameters['{}'].output_file}}}}", identifier(member));
    };
    std::vector<std::string> words =
        HONE_TRY(compile::container_command(p_, step, o_, meaning, file));
    c["image"] = o_.image;
    c["command"] = OrderedJson::array({words[0]});
    c["args"] = std::vector<std::string>(words.begin() + 1, words.end());
    // Kubeflow's launcher and Vertex AI show the objects of Google's buckets as files.
    if (o_.root.starts_with("gs://"))
      c["env"] = compile::variables_of(published_environment("/gcs/" + o_.root.substr(5), o_.root));
    const OrderedJson resources = resources_of(step);
    if (!resources.empty()) c["resources"] = resources;
    return c;
  }

  Result<OrderedJson> deployment(const PipelineStep& step) {
    const std::string model = model_step();
    if (model.empty())
      return Error(err::kCannotCompile, "no step trains the model that is deployed")
          .at(fmt::format("step '{}'", step.name))
          .todo("write a step of your own that deploys");
    const StepMachine& m = step.machine;
    const std::string uri = fmt::format("{{{{$.inputs.artifacts['{}'].uri}}}}", identifier(model)),
                      out = "{{$.outputs.parameters['endpoint'].output_file}}",
                      gpus = std::to_string(m.gpu_count);
    OrderedJson c;
    if (vertex_) {
      const std::string region = m.zone.empty() ? o_.region : m.zone;
      c["image"] = o_.deploy_image.empty() ? "google/cloud-sdk:slim" : o_.deploy_image;
      c["command"] = {"sh", "-c", kVertexDeploy, "deploy"};
      c["args"] = {p_.name,
                   uri,
                   o_.image,
                   o_.project,
                   region,
                   m.machine_type,
                   m.gpu_count > 0 ? upper_gpu(m.gpu_type) : std::string(),
                   gpus,
                   out,
                   gcloud_list(compile::serve_flags(step))};
      out_.notes.push_back(
          fmt::format("step '{}' uploads the model to Vertex AI and puts it on an endpoint in {}",
                      step.name, region));
    } else {
      c["image"] = o_.deploy_image.empty() ? "bitnami/kubectl:latest" : o_.deploy_image;
      c["command"] = {"sh", "-c", kKubernetesDeploy, "deploy"};
      c["args"] = {
          to_lower(p_.name), uri, o_.image, gpus, out, yaml_list(compile::serve_flags(step))};
      out_.notes.push_back(fmt::format(
          "step '{}' makes a Deployment and a Service '{}' with kubectl: its service account needs "
          "that right",
          step.name, to_lower(p_.name)));
    }
    return c;
  }

  OrderedJson resources_of(const PipelineStep& step) {
    OrderedJson r = OrderedJson::object();
    const StepMachine& m = step.machine;
    const compile::MachineSize size = compile::machine_size(m.machine_type);
    if (size.processors > 0) {
      r["cpuLimit"] = size.processors;
      r["memoryLimit"] = size.gigabytes;
      r["resourceCpuLimit"] = double_text(size.processors);
      r["resourceMemoryLimit"] = fmt::format("{}G", size.gigabytes);
    } else if (!m.machine_type.empty()) {
      out_.notes.push_back(
          fmt::format("step '{}': the size of '{}' is not known, and is not asked for", step.name,
                      m.machine_type));
    }
    if (m.gpu_count > 0) {
      const std::string type = vertex_ ? upper_gpu(m.gpu_type) : "nvidia.com/gpu";
      r["accelerator"] = {{"type", type},
                          {"count", std::to_string(m.gpu_count)},
                          {"resourceType", type},
                          {"resourceCount", std::to_string(m.gpu_count)}};
    }
    return r;
  }

  OrderedJson node_selector(const PipelineStep& step) const {
    OrderedJson labels;
    if (vertex_ || compile::deploys(step)) return labels;
    if (!step.machine.machine_type.empty())
      labels["node.kubernetes.io/instance-type"] = step.machine.machine_type;
    if (step.machine.gpu_count > 0)
      labels["cloud.google.com/gke-accelerator"] = to_lower(step.machine.gpu_type);
    return labels;
  }

  const Pipeline& p_;
  const CompileOptions& o_;
  const bool vertex_;
  CompiledPipeline out_;
};

}  // namespace

Result<CompiledPipeline> kfp_spec(const Pipeline& pipeline, const CompileOptions& options,
                                  bool vertex) {
  return KfpCompiler(pipeline, options, vertex).compile();
}

}  // namespace hone
