#include "run/commands/init_files.h"

#include "base/core/json.h"
#include "base/core/text.h"

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

// The letters that byte-level tokenizers write bytes with, as GPT-2 has them.
std::string byte_letter(int byte) {
  const auto prints = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  int code = byte;
  if (!prints(byte)) {
    code = 256;
    for (int b = 0; b < byte; ++b) code += !prints(b);
  }
  std::string letter;
  append_utf8(letter, static_cast<uint32_t>(code));
  return letter;
}

constexpr const char* kSpecials[] = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
constexpr int kVocabulary = 5 + 256;

std::string tokenizer_json(const std::string& family) {
  OrderedJson vocabulary = OrderedJson::object(), added = OrderedJson::array();
  for (int i = 0; i < 5; ++i) {
    vocabulary[kSpecials[i]] = i;
    added.push_back({{"id", i},
                     {"content", kSpecials[i]},
                     {"single_word", false},
                     {"lstrip", i == 4},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  for (int b = 0; b < 256; ++b) vocabulary[byte_letter(b)] = 5 + b;
  const auto special = [](const char* id) -> OrderedJson {
    return {{"SpecialToken", {{"id", id}, {"type_id", 0}}}};
  };
  const auto text = [](const char* id) -> OrderedJson {
    return {{"Sequence", {{"id", id}, {"type_id", 0}}}};
  };
  OrderedJson post;  // GPT-2 adds nothing
  if (family == "t5")
    post = {{"single", OrderedJson::array({text("A"), special("</s>")})},
            {"pair", OrderedJson::array({text("A"), special("</s>"), text("B"), special("</s>")})}};
  if (family == "roberta")
    post = {{"single", OrderedJson::array({special("<s>"), text("A"), special("</s>")})},
            {"pair", OrderedJson::array({special("<s>"), text("A"), special("</s>"),
                                         special("</s>"), text("B"), special("</s>")})}};
  if (!post.is_null()) {
    OrderedJson specials = OrderedJson::object();
    for (const int i : {0, 2})
      specials[kSpecials[i]] = {{"id", kSpecials[i]},
                                {"ids", OrderedJson::array({i})},
                                {"tokens", OrderedJson::array({kSpecials[i]})}};
    post["type"] = "TemplateProcessing";
    post["special_tokens"] = specials;
  }
  const OrderedJson bytes = {{"type", "ByteLevel"},
                             {"add_prefix_space", false},
                             {"trim_offsets", true},
                             {"use_regex", true}};
  const OrderedJson j = {{"version", "1.0"},
                         {"truncation", nullptr},
                         {"padding", nullptr},
                         {"added_tokens", added},
                         {"normalizer", nullptr},
                         {"pre_tokenizer", bytes},
                         {"post_processor", post},
                         {"decoder", bytes},
                         {"model",
                          {{"type", "BPE"},
                           {"dropout", nullptr},
                           {"unk_token", nullptr},
                           {"continuing_subword_prefix", nullptr},
                           {"end_of_word_suffix", nullptr},
                           {"fuse_unk", false},
                           {"byte_fallback", false},
                           {"vocab", vocabulary},
                           {"merges", OrderedJson::array()}}}};
  return dump_json(j, {.indent = 1}) + "\n";
}

OrderedJson config_of(const std::string& family) {
  OrderedJson j = {{"model_type", family},
                   {"vocab_size", kVocabulary},
                   {"bos_token_id", 0},
                   {"pad_token_id", 1},
                   {"eos_token_id", 2}};
  OrderedJson more;
  if (family == "t5")
    more = {{"architectures", {"T5ForConditionalGeneration"}},
            {"d_model", 32},
            {"d_kv", 8},
            {"d_ff", 64},
            {"num_layers", 2},
            {"num_heads", 4},
            {"decoder_start_token_id", 1}};
  else if (family == "gpt2")
    more = {{"architectures", {"GPT2LMHeadModel"}},
            {"n_embd", 32},
            {"n_layer", 2},
            {"n_head", 4},
            {"n_positions", 256}};
  else
    more = {{"architectures", {"RobertaForMaskedLM"}},
            {"hidden_size", 32},
            {"num_hidden_layers", 2},
            {"num_attention_heads", 4},
            {"intermediate_size", 64},
            {"max_position_embeddings", 258},
            {"type_vocab_size", 1}};
  j.update(more);
  return j;
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

std::map<std::string, std::string> project_files(const std::string& task, const std::string& name) {
  const bool pairs = task == "summarization" || task == "translation";
  const std::string family = pairs           ? "t5"
                             : task == "clm" ? "gpt2"
                                             : "roberta",
                    hub = pairs           ? "t5-small"
                          : task == "clm" ? "gpt2"
                                          : "roberta-base";
  const OrderedJson tokenizer = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                 {"bos_token", "<s>"},
                                 {"eos_token", "</s>"},
                                 {"pad_token", "<pad>"},
                                 {"unk_token", "<unk>"},
                                 {"mask_token", "<mask>"}};
  return {{"pipeline.json", dump_json(pipeline_config(task, name), {.indent = 2}) + "\n"},
          {"data/train.jsonl", rows(task, 0, kTrainRows)},
          {"data/validation.jsonl", rows(task, kTrainRows, kTrainRows + kValidationRows)},
          {"model/config.json", dump_json(config_of(family), {.indent = 2}) + "\n"},
          {"model/tokenizer.json", tokenizer_json(family)},
          {"model/tokenizer_config.json", dump_json(tokenizer, {.indent = 2}) + "\n"},
          {"README.md", filled(kReadme, name, hub)},
          {"Containerfile", filled(kContainerfile, name, hub)},
          {"cloudbuild.yaml", filled(kCloudBuild, name, hub)},
          {".github/workflows/pipeline.yml", kWorkflow}};
}

}  // namespace hone
