// The stages that Transformers 5's AlbertTokenizer, CamembertTokenizer and DebertaV2Tokenizer put
// around a SentencePiece model. Reference: Transformers 5, models/{albert,camembert,deberta_v2}/tokenization_*.py.
#include "base/core/text.h"
#include "learn/tokenizers/load/loaders.h"
#include "learn/tokenizers/load/template_json.h"
#include "learn/tokenizers/text/errors.h"

namespace hone {
namespace {

std::string replace_json(std::string_view kind, std::string_view pattern, std::string_view by) {
  return fmt::format(R"({{"type":"Replace","pattern":{{"{}":"{}"}},"content":"{}"}})", kind,
                     pattern, by);
}

std::string sequence_json(std::string_view list, const std::vector<std::string>& steps) {
  return fmt::format(R"({{"type":"Sequence","{}":[{}]}})", list, join(steps, ","));
}

StagesJson albert_stages(const TokenizerConfig& config, const std::string& precompiled) {
  std::vector<std::string> steps{replace_json("String", "``", R"(\")"),
                                 replace_json("String", "''", R"(\")")};
  if (!config.keep_accents.value_or(false)) {
    steps.emplace_back(R"({"type":"NFKD"})");
    steps.emplace_back(R"({"type":"StripAccents"})");
  }
  if (config.lowercase.value_or(true)) steps.emplace_back(R"({"type":"Lowercase"})");
  if (precompiled != "null") steps.push_back(precompiled);
  return t5_stages(sequence_json("normalizers", steps), config.add_prefix_space.value_or(true));
}

StagesJson deberta_stages(const TokenizerConfig& config) {
  std::vector<std::string> steps;
  if (config.lowercase.value_or(false)) steps.emplace_back(R"({"type":"Lowercase"})");
  steps.push_back(replace_json("Regex", R"(\\s{2,}|[\\n\\r\\t])", " "));
  steps.emplace_back(R"({"type":"NFC"})");
  steps.emplace_back(R"({"type":"Strip","strip_left":false,"strip_right":true})");
  StagesJson json;
  json.normalizer = sequence_json("normalizers", steps);
  json.decoder = metaspace_json(true);
  if (!config.add_prefix_space.value_or(true))
    json.decoder.replace(json.decoder.find("always"), 6, "first");
  json.pre_tokenizer = sequence_json("pretokenizers", {json.decoder});
  return json;
}

}  // namespace

Result<StagesJson> spm_encoder_stages(const TokenizerConfig& config,
                                      const std::string& precompiled) {
  if (config.tokenizer_class == "AlbertTokenizer") return albert_stages(config, precompiled);
  if (config.tokenizer_class == "CamembertTokenizer")
    return t5_stages(precompiled, config.add_prefix_space.value_or(true));
  if (config.split_by_punct.value_or(false))
    return Error(err::kTokenizerKind, "DebertaV2Tokenizer with split_by_punct")
        .todo("take a checkpoint whose tokenizer_config.json has split_by_punct false");
  return deberta_stages(config);
}

Status set_spm_encoder_post_processor(const TokenizerConfig& config, TokenizerParts& parts) {
  PairTemplate t;
  if (config.tokenizer_class == "CamembertTokenizer") {
    t.before = t.before_one = {parts.bos};
    t.after = t.after_one = {parts.eos};
    t.between = {parts.eos, parts.eos};
  } else {
    t.before = t.before_one = {parts.cls};
    t.after = t.after_one = t.between = {parts.sep};
    t.second = 1;
  }
  return replace_post_processor(HONE_TRY(pair_template_json(t, parts)), parts);
}

}  // namespace hone
