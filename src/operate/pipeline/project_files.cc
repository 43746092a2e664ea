#include "operate/pipeline/project_files.h"

#include "base/core/json.h"

namespace hone {
namespace {

constexpr int kTrainRows = 48, kValidationRows = 12;

// Sentences about ferries and weather; row i is always the same.
struct Sample {
  std::string place, time, weather;
};
Sample sample(int i) {
  static const char* const places[] = {"the island", "the harbour", "the village", "the old town",
                                       "the lake"};
  static const char* const times[] = {"nine", "ten", "noon", "six", "seven", "midnight", "dawn"};
  static const char* const weathers[] = {"rain", "snow", "fog", "sun", "wind", "hail"};
  return {places[i % 5], times[i % 7], weathers[i % 6]};
}

OrderedJson row_of(const std::string& task, int i) {
  const Sample s = sample(i);
  const std::string text = fmt::format(
      "The ferry to {} leaves at {}. There was {} in the morning, and few people waited "
      "at the pier.",
      s.place, s.time, s.weather);
  const bool good = s.weather == "sun" || s.weather == "wind";
  if (task == "summarization")
    return {{"document", text}, {"summary", fmt::format("A ferry to {} at {}.", s.place, s.time)}};
  if (task == "translation")
    return {{"translation",
             {{"en", fmt::format("the ferry leaves at {}", s.time)},
              {"de", fmt::format("die Faehre faehrt um {}", s.time)}}}};
  if (task == "classification") return {{"text", text}, {"label", good ? "good" : "bad"}};
  return {{"text", text}};
}

std::string rows(const std::string& task, int begin, int end) {
  std::string text;
  for (int i = begin; i < end; ++i) text += dump_json(row_of(task, i)) + "\n";
  return text;
}

OrderedJson pipeline_config(const std::string& task, const std::string& name) {
  OrderedJson j = {{"dataset", "data"},      {"model_checkpoint", "model"},
                   {"task", task},           {"model_display_name", name},
                   {"batch_size", 8},        {"epochs", 2},
                   {"pipeline_root", "runs"}};
  OrderedJson train = {{"learning_rate", 1e-3}, {"logging_steps", 2}};
  if (task == "summarization") {
    j["document_column"] = "document";
    j["summary_column"] = "summary";
    train.update({{"max_source_length", 128}, {"max_target_length", 32}});
  } else if (task == "translation") {
    train.update({{"source_lang", "en"},
                  {"target_lang", "de"},
                  {"max_source_length", 64},
                  {"max_target_length", 48}});
  } else if (task == "classification") {
    train["max_seq_length"] = 128;
  } else if (task == "clm") {
    train["block_size"] = 64;
  } else {
    train["max_seq_length"] = 64;
  }
  j["train"] = train;
  return j;
}

constexpr const char* kReadme = R"(# {name}

    hone pipeline run pipeline.json          # data/ and model/ to an endpoint; prints endpoint=...
    hone pipeline run pipeline.json --dry_run
    hone pipeline schedule pipeline.json --on data    # again whenever data/ changes

`pipeline.json` says what is trained on what. Put your rows in the place of those in `data/`, and in the place of
`model` the name of a model on the hub, such as `{hub}`: the one here is tiny and knows nothing.

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

std::string filled(std::string text, const std::string& name, const std::string& hub) {
  for (const auto& [what, value] :
       {std::pair<std::string, std::string>("{name}", name), {"{hub}", hub}})
    for (size_t at; (at = text.find(what)) != std::string::npos;)
      text.replace(at, what.size(), value);
  return text;
}

}  // namespace

std::map<std::string, std::string> project_files(const ProjectOf& p) {
  const auto text = [&](const char* form) { return filled(form, p.name, p.hub_model); };
  return {{"pipeline.json", dump_json(pipeline_config(p.task, p.name), {.indent = 2}) + "\n"},
          {"data/train.jsonl", rows(p.task, 0, kTrainRows)},
          {"data/validation.jsonl", rows(p.task, kTrainRows, kTrainRows + kValidationRows)},
          {"README.md", text(kReadme)},
          {"Containerfile", text(kContainerfile)},
          {"cloudbuild.yaml", text(kCloudBuild)},
          {".github/workflows/pipeline.yml", kWorkflow}};
}

}  // namespace hone
