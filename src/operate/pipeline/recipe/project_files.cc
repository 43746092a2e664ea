#include "operate/pipeline/recipe/project_files.h"

#include "base/core/json.h"

namespace hone {
namespace {

constexpr int kTrainRows = 48, kValidationRows = 12;

std::string rows(const ProjectOf& project, int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += dump_json(project.row(i)) + "\n";
  return text;
}

OrderedJson pipeline_config(const ProjectOf& project) {
  OrderedJson j = {{"dataset", "data"},      {"model_checkpoint", "model"},
                   {"task", project.task},   {"model_display_name", project.name},
                   {"batch_size", 8},        {"epochs", 30},
                   {"pipeline_root", "runs"}};
  j.update(project.keys);
  OrderedJson train = {{"learning_rate", 1e-3}};
  train.update(project.flags);
  j["train"] = train;
  return j;
}

constexpr const char* kReadme = R"(# {name}

    hone pipeline run pipeline.json          # {goal}
    hone pipeline run pipeline.json --dry_run
    hone pipeline schedule pipeline.json --on data    # again whenever data/ changes

`pipeline.json` says what is trained on what. Put your rows in the place of those in `data/`, and in the place of
`model` the name of a model on the hub, such as `{hub}`: the one here is tiny and knows nothing.
{flag}

`Containerfile` makes an image that holds this project and hone; `cloudbuild.yaml` builds it on Google Cloud, and
`.github/workflows/pipeline.yml` runs the pipeline on every push.
)";

constexpr const char* kContainerfile =
    R"(# An image with hone, this project, and what the project needs from elsewhere: it starts without a network.
#   podman build --build-arg HONE_IMAGE=hone -t {name} . && podman run {name}
ARG HONE_IMAGE=hone
FROM ${HONE_IMAGE}
WORKDIR /project
COPY pipeline.json ./
COPY data data
COPY model model
ENV HF_HUB_OFFLINE=1
ENTRYPOINT ["/usr/bin/hone", "pipeline", "run", "pipeline.json"]
)";

constexpr const char* kCloudBuild =
    R"(# gcloud builds submit --substitutions=_HONE_IMAGE=...,_IMAGE=...
steps:
  - name: gcr.io/cloud-builders/docker
    args: [build, --build-arg, "HONE_IMAGE=${_HONE_IMAGE}", -f, Containerfile, -t, "${_IMAGE}", .]
substitutions:
  _HONE_IMAGE: hone
  _IMAGE: "us-docker.pkg.dev/${PROJECT_ID}/hone/{name}"
images: ["${_IMAGE}"]
)";

constexpr const char* kWorkflow = R"(name: pipeline
on: [push]
jobs:
  pipeline:
    runs-on: ubuntu-24.04
    container: ${{ vars.HONE_IMAGE }}
    steps:
      - uses: actions/checkout@v4
      - run: hone pipeline run pipeline.json --dry_run
      - run: hone pipeline run pipeline.json
)";

std::string filled(std::string text, const ProjectOf& p) {
  const std::string goal = p.is_served ? "data/ and model/ to an endpoint; prints endpoint=..."
                                       : "data/ and model/ to a registered version";
  const std::string flag =
      p.has_labels
          ? "A flag of `hone train` is a key of the block `train`: `\"train\": "
            "{\"ignore_mismatched_sizes\": true}`, say, lets a model\nwhose labels are not those "
            "of "
            "your rows learn yours."
          : "A flag of `hone train` is a key of the block `train`: `\"train\": {\"warmup_ratio\": "
            "0.1}`, say.";
  for (const auto& [what, value] : {std::pair<std::string, std::string>("{name}", p.name),
                                    {"{hub}", p.hub_model},
                                    {"{goal}", goal},
                                    {"{flag}", flag}})
    for (size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), value);
  return text;
}

}  // namespace

std::map<std::string, std::string> project_files(const ProjectOf& p) {
  const auto text = [&](const char* form) { return filled(form, p); };
  std::map<std::string, std::string> files = {
      {"pipeline.json", dump_json(pipeline_config(p), {.indent = 2}) + "\n"},
      {"README.md", text(kReadme)},
      {"Containerfile", text(kContainerfile)},
      {"cloudbuild.yaml", text(kCloudBuild)},
      {".github/workflows/pipeline.yml", kWorkflow}};
  for (const auto& [path, bytes] : p.data) files["data/" + path] = bytes;
  if (!p.data.empty()) return files;
  files["data/train.jsonl"] = rows(p, 0, kTrainRows);
  files["data/validation.jsonl"] = rows(p, kTrainRows, kTrainRows + kValidationRows);
  return files;
}

}  // namespace hone
