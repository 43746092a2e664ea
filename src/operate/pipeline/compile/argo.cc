// Argo Workflows: https://argo-workflows.readthedocs.io/en/latest/fields/
#include <functional>

#include "base/core/text.h"
#include "operate/pipeline/compile/compile.h"
#include "operate/pipeline/compile/errors.h"
#include "operate/pipeline/published.h"

namespace hone {
namespace {

using compile::identifier;

constexpr const char *kInFolder = "/hone/in/", *kOutFolder = "/hone/out",
                     *kResultFolder = "/hone/result/";

class ArgoCompiler {
 public:
  ArgoCompiler(const Pipeline& pipeline, const CompileOptions& options)
      : p_(pipeline), o_(options) {}

  Result<CompiledPipeline> compile() {
    OrderedJson tasks = OrderedJson::array(), templates = OrderedJson::array();
    templates.push_back({{"name", "main"}});
    for (const PipelineStep& step : p_.steps) {
      tasks.push_back(task(step));
      templates.push_back(HONE_TRY(container(step)));
      if (step.machine.node_count > 1)
        out_.notes.push_back(
            fmt::format("step '{}' asks for {} machines: one is used, because one process trains",
                        step.name, step.machine.node_count));
    }
    templates[0]["dag"]["tasks"] = tasks;
    out_.document = {{"apiVersion", "argoproj.io/v1alpha1"},
                     {"kind", "Workflow"},
                     {"metadata", {{"generateName", to_lower(p_.name) + "-"}}},
                     {"spec", {{"entrypoint", "main"}, {"templates", templates}}}};
    if (!o_.root.starts_with("gs://") && !o_.root.starts_with("s3://"))
      out_.notes.push_back(
          "artifacts go to the artifact repository of the cluster: --pipeline_root is not a gs:// "
          "or s3:// URL");
    return std::move(out_);
  }

 private:
  std::string model_step() const {
    for (const PipelineStep& s : p_.steps)
      if (hone_command(s.command) == "train") return s.name;
    return "";
  }

  OrderedJson task(const PipelineStep& step) const {
    OrderedJson t = {{"name", step.name}, {"template", step.name}};
    std::vector<std::string> needs;
    for (const std::string& need : step.needs) needs.push_back(need + ".Succeeded");
    if (!needs.empty()) t["depends"] = join(needs, " && ");
    const compile::Reads read = compile::reads_of(step);
    if (!compile::deploys(step))
      for (const std::string& from : read.folders)
        t["arguments"]["artifacts"].push_back(
            {{"name", identifier(from)},
             {"from", fmt::format("{{{{tasks.{}.outputs.artifacts.out}}}}", from)}});
    for (const auto& [from, member] : read.results)
      t["arguments"]["parameters"].push_back(
          {{"name", parameter(from, member)},
           {"value",
            fmt::format("{{{{tasks.{}.outputs.parameters.{}}}}}", from, identifier(member))}});
    if (!step.when.empty()) {
      const StepCondition c = parse_condition(step.when).value();
      t["when"] = fmt::format("{{{{tasks.{}.outputs.parameters.{}}}}} {} {}", c.left.name,
                              identifier(c.left.member), c.op, c.right);
    }
    return t;
  }
  static std::string parameter(const std::string& step, const std::string& member) {
    return identifier(step) + "__" + identifier(member);
  }

  Result<OrderedJson> container(const PipelineStep& step) {
    OrderedJson t = {{"name", step.name}};
    const compile::Reads read = compile::reads_of(step);
    for (const auto& [from, member] : read.results)
      t["inputs"]["parameters"].push_back({{"name", parameter(from, member)}});
    if (step.retries > 0)
      t["retryStrategy"] = {
          {"limit", std::to_string(step.retries)},
          {"retryPolicy", "Always"},
          {"backoff", {{"duration", "30s"}, {"factor", "2"}, {"maxDuration", "1h"}}}};
    if (step.timeout_s > 0)
      t["activeDeadlineSeconds"] = static_cast<int64_t>(std::max(1.0, step.timeout_s));
    if (compile::deploys(step)) return deployment(step, t);
    for (const std::string& from : read.folders)
      t["inputs"]["artifacts"].push_back(
          {{"name", identifier(from)}, {"path", kInFolder + identifier(from)}});
    OrderedJson artifact = {
        {"name", "out"}, {"path", kOutFolder}, {"archive", {{"none", OrderedJson::object()}}}};
    place(artifact, step.name);
    if (read.out) t["outputs"]["artifacts"].push_back(artifact);
    for (const auto& [member, number] : compile::results_of(p_, step.name))
      t["outputs"]["parameters"].push_back(
          {{"name", identifier(member)},
           {"valueFrom", {{"path", kResultFolder + identifier(member)}}}});
    const auto meaning = [&](const StepReference& r) -> std::string {
      switch (r.kind) {
        case StepReference::kOut:
          return kOutFolder;
        case StepReference::kFolder:
          return kInFolder + identifier(r.name);
        case StepReference::kResult:
          return fmt::format("{{{{inputs.parameters.{}}}}}", parameter(r.name, r.member));
        default:
          return "{{workflow.name}}";
      }
    };
    const auto file = [](const std::string& member) { return kResultFolder + identifier(member); };
    t["container"]["image"] = o_.image;
    if (o_.root.starts_with("gs://") || o_.root.starts_with("s3://"))
      t["container"]["env"] = compile::variables_of(
          published_environment(kInFolder, without_end_slash(o_.root) + "/{{workflow.name}}"));
    t["container"]["command"] = HONE_TRY(compile::container_command(p_, step, o_, meaning, file));
    const StepMachine& m = step.machine;
    const compile::MachineSize size = compile::machine_size(m.machine_type);
    OrderedJson& resources = t["container"]["resources"];
    if (m.gpu_count > 0) resources["limits"]["nvidia.com/gpu"] = std::to_string(m.gpu_count);
    // Nine tenths: the machine's own services take the rest.
    if (size.processors > 0)
      resources["requests"] = {{"cpu", fmt::format("{:.0f}m", size.processors * 900)},
                               {"memory", fmt::format("{:.0f}M", size.gigabytes * 900)}};
    if (resources.is_null()) t["container"].erase("resources");
    if (!m.machine_type.empty())
      t["nodeSelector"]["node.kubernetes.io/instance-type"] = m.machine_type;
    if (m.gpu_count > 0)
      t["nodeSelector"]["cloud.google.com/gke-accelerator"] = to_lower(m.gpu_type);
    return t;
  }

  // <pipeline_root>/<run>/<step>
  std::string key_of(const std::string& step) const {
    const std::string path = without_end_slash(o_.root).substr(5);
    const size_t slash = path.find('/');
    const std::string prefix = slash == std::string::npos ? "" : path.substr(slash + 1) + "/";
    return prefix + "{{workflow.name}}/" + step;
  }
  void place(OrderedJson& artifact, const std::string& step) const {
    const bool gcs = o_.root.starts_with("gs://");
    if (!gcs && !o_.root.starts_with("s3://")) return;
    const std::string path = o_.root.substr(5);
    artifact[gcs ? "gcs" : "s3"] = {{"bucket", path.substr(0, path.find('/'))},
                                    {"key", key_of(step)}};
  }

  Result<OrderedJson> deployment(const PipelineStep& step, OrderedJson t) {
    const std::string model = model_step();
    if (model.empty() || (!o_.root.starts_with("gs://") && !o_.root.starts_with("s3://")))
      return Error(err::kCannotCompile, model.empty()
                                            ? "no step trains the model that is deployed"
                                            : "a deployment reads the model from a bucket")
          .at(fmt::format("step '{}'", step.name))
          .todo(
              "give --pipeline_root gs://... or s3://..., or write a step of your own that "
              "deploys");
    const std::string name = to_lower(p_.name);
    const OrderedJson labels = {{"app", name}};
    const std::string uri = without_end_slash(o_.root) + "/{{workflow.name}}/" + model;
    OrderedJson command = {"hone", "serve", uri, "--host", "0.0.0.0", "--port", "8080"};
    for (const std::string& word : compile::serve_flags(step)) command.push_back(word);
    OrderedJson serve = {{"name", "serve"},
                         {"image", o_.image},
                         {"command", command},
                         {"ports", OrderedJson::array({{{"containerPort", 8080}}})},
                         {"readinessProbe", {{"httpGet", {{"path", "/health"}, {"port", 8080}}}}}};
    if (step.machine.gpu_count > 0)
      serve["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(step.machine.gpu_count);
    OrderedJson pod = {{"containers", OrderedJson::array({serve})}};
    if (!step.machine.machine_type.empty())
      pod["nodeSelector"]["node.kubernetes.io/instance-type"] = step.machine.machine_type;
    const OrderedJson manifest = {
        {"apiVersion", "apps/v1"},
        {"kind", "Deployment"},
        {"metadata", {{"name", name}, {"labels", labels}}},
        {"spec",
         {{"replicas", 1},
          {"selector", {{"matchLabels", labels}}},
          {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}};
    t["resource"] = {{"action", "apply"},
                     {"manifest", dump_json(manifest)},
                     {"successCondition", "status.readyReplicas > 0"}};
    out_.notes.push_back(fmt::format(
        "step '{}' makes a Deployment '{}' of hone serve, which reads the model from {}", step.name,
        name, uri));
    return t;
  }

  const Pipeline& p_;
  const CompileOptions& o_;
  CompiledPipeline out_;
};

}  // namespace

PipelineEngine pipeline_engine_argo() {
  return {.name = "argo",
          .about = "Argo Workflows",
          .compile = [](const Pipeline& pipeline, const CompileOptions& options) {
            return ArgoCompiler(pipeline, options).compile();
          }};
}

}  // namespace hone
