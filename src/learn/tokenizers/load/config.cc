#include "learn/tokenizers/load/config.h"

#include <charconv>
#include <filesystem>

#include "base/store/store.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"

namespace hone {
namespace {

constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

std::string* named_field(TokenizerParts& p, std::string_view name) {
  std::string* fields[] = {&p.bos, &p.eos, &p.unk, &p.sep, &p.pad, &p.cls, &p.mask};
  for (size_t i = 0; i < std::size(kNames); ++i)
    if (name == kNames[i]) return fields[i];
  return nullptr;
}

// A named token is a string or an object.
Result<AddedToken> named_token(const JsonAt& spec) {
  if (spec.value.is_object()) return read_added_token(spec, /*special_default=*/true);
  AddedToken token;
  token.content = HONE_TRY(spec.string());
  return token;
}

bool is_standard_name(std::string_view key) {
  return std::find(std::begin(kNames), std::end(kNames), key) != std::end(kNames);
}

// Named tokens of a file; those of a later file replace those of an earlier one.
Status read_named(const JsonAt& root, TokenizerConfig& config) {
  for (const auto [key, value] : HONE_TRY(root.object())) {
    const JsonAt at{value, fmt::format("{} {}", root.where, key)};
    if (!key.ends_with("_token") || !(value.is_string() || value.is_object())) continue;
    AddedToken token = HONE_TRY(named_token(at));
    token.special = true;
    if (!is_standard_name(key)) {  // a token of one model, such as image_token
      config.extra.push_back(std::move(token));
      continue;
    }
    const std::string name(key);
    if (name == "mask_token") config.mask_is_text = value.is_string();
    std::erase_if(config.named, [&](const auto& n) { return n.first == name; });
    config.named.emplace_back(name, std::move(token));
  }
  for (const char* name : {"additional_special_tokens", "extra_special_tokens"}) {
    const auto list = root.find(name);
    if (!list) continue;
    simdjson::dom::object by_name;
    if (!list->value.get(by_name)) {
      for (const auto [key, value] : by_name)
        config.extra.push_back(HONE_TRY(named_token({value, list->where})));
      continue;
    }
    size_t index = 0;
    for (const JsonElement item : HONE_TRY(list->array()))
      config.extra.push_back(HONE_TRY(named_token(list->item(item, index++))));
  }
  return Ok{};
}

Status read_class(const JsonAt& name, TokenizerConfig& config) {
  config.tokenizer_class = HONE_TRY(name.string());
  if (config.tokenizer_class.ends_with("Fast"))
    config.tokenizer_class.resize(config.tokenizer_class.size() - 4);
  return Ok{};
}

// A text, or a list of {"name", "template"}, of which Transformers uses "default", and "tool_use"
// where tools are given.
Status read_chat_template(const JsonAt& root, TokenizerConfig& config) {
  const auto at = root.find("chat_template");
  if (at && at->value.is_string()) config.chat_template = HONE_TRY(at->string());
  if (!at || !at->value.is_array()) return Ok{};
  for (const JsonElement item : HONE_TRY(at->array())) {
    const JsonAt one{item, at->where};
    const std::string_view name = HONE_TRY(one.string("name"));
    if (name == "default") config.chat_template = HONE_TRY(one.string("template"));
    if (name == "tool_use") config.tool_chat_template = HONE_TRY(one.string("template"));
  }
  return Ok{};
}

// chat_template.jinja takes precedence over tokenizer_config.json; chat_template.json, which is a
// processor's, is for models that have no other.
Status read_chat_files(const std::string& folder, TokenizerConfig& config) {
  const std::string jinja = folder + "/chat_template.jinja", json = folder + "/chat_template.json";
  if (is_file(json)) {
    config.files.push_back(json);
    if (config.chat_template.empty()) {
      const std::string text = HONE_TRY(read_text_file(json));
      const JsonDocument document = HONE_TRY(JsonDocument::parse(text, json));
      HONE_TRY(read_chat_template(JsonAt{document.root(), json + ":"}, config));
    }
  }
  if (!is_file(jinja)) return Ok{};
  config.files.push_back(jinja);
  config.chat_template = HONE_TRY(read_text_file(jinja));
  config.tool_chat_template.clear();
  return Ok{};
}

Status read_main(const JsonAt& root, TokenizerConfig& config) {
  if (const auto name = root.find("tokenizer_class")) HONE_TRY(read_class(*name, config));
  const std::pair<const char*, std::optional<bool>*> flags[] = {
      {"add_bos_token", &config.add_bos},
      {"add_eos_token", &config.add_eos},
      {"add_prefix_space", &config.add_prefix_space},
      {"legacy", &config.legacy_prefix},
      {"do_lower_case", &config.lowercase},
      {"tokenize_chinese_chars", &config.chinese},
      {"strip_accents", &config.strip_accents},
      {"keep_accents", &config.keep_accents},
      {"split_by_punct", &config.split_by_punct}};
  for (const auto& [key, value] : flags)
    if (const auto at = root.find(key)) *value = HONE_TRY(at->boolean());
  if (const auto at = root.find("offset")) config.offset = HONE_TRY(at->integer());
  if (const auto at = root.find("separate_vocabs"))
    config.separate_vocabs = HONE_TRY(at->boolean());
  if (root.value["mask_token_sent"].error() == simdjson::SUCCESS) {  // null: there is none
    const auto at = root.find("mask_token_sent");
    config.mask_token_sent = at && at->value.is_string() ? std::string(HONE_TRY(at->string())) : "";
  }
  for (const auto& [key, lang] : {std::pair{"source_lang", &config.source_lang},
                                  {"src_lang", &config.source_lang},
                                  {"target_lang", &config.target_lang},
                                  {"tgt_lang", &config.target_lang}})
    if (const auto at = root.find(key); at && at->value.is_string()) *lang = HONE_TRY(at->string());
  if (const auto at = root.find("extra_ids")) config.extra_ids = HONE_TRY(at->integer());
  if (const auto at = root.find("model_max_length")) {
    double tokens;  // "no limit" is written as 1e30
    if (!at->value.get(tokens) && tokens >= 1 && tokens < 1e9)
      config.model_max_length = static_cast<int64_t>(tokens);
  }
  if (const auto at = root.find("truncation_side"))
    config.truncates_left = HONE_TRY(at->string()) == "left";
  HONE_TRY(read_chat_template(root, config));
  if (const auto decoder = root.find("added_tokens_decoder")) {
    std::vector<std::pair<int64_t, AddedToken>> tokens;
    for (const auto [key, value] : HONE_TRY(decoder->object())) {
      const JsonAt at{value, fmt::format("{}.{}", decoder->where, key)};
      int64_t id = 0;
      std::from_chars(key.data(), key.data() + key.size(), id);
      tokens.emplace_back(id, HONE_TRY(read_added_token(at, /*special_default=*/false)));
    }
    std::stable_sort(tokens.begin(), tokens.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [id, token] : tokens) config.listed.push_back(std::move(token));
    config.lists_tokens = true;
  }
  return read_named(root, config);
}

Status read_legacy(const JsonAt& root, TokenizerConfig& config) {
  std::vector<std::pair<int64_t, std::string>> tokens;
  for (const auto [key, value] : HONE_TRY(root.object()))
    tokens.emplace_back(HONE_TRY((JsonAt{value, root.where}.integer())), key);
  std::stable_sort(tokens.begin(), tokens.end());
  for (auto& entry : tokens) {
    AddedToken token;
    token.content = std::move(entry.second);
    token.special = std::any_of(config.named.begin(), config.named.end(),
                                [&](const auto& n) { return n.second.content == token.content; });
    token.normalized = !token.special;
    config.legacy.push_back(std::move(token));
  }
  return Ok{};
}

// If tokenizer_config.json has no class, the model's type gives it.
Status read_model_type(const JsonAt& root, TokenizerConfig& config) {
  constexpr std::pair<std::string_view, const char*> kClasses[] = {
      {"gpt2", "GPT2Tokenizer"},
      {"roberta", "RobertaTokenizer"},
      {"bart", "BartTokenizer"},
      {"bert", "BertTokenizer"},
      {"distilbert", "BertTokenizer"},
      {"electra", "BertTokenizer"},
      {"mobilebert", "BertTokenizer"},
      {"nomic_bert", "BertTokenizer"},
      {"mpnet", "MPNetTokenizer"},
      {"albert", "AlbertTokenizer"},
      {"camembert", "CamembertTokenizer"},
      {"deberta-v2", "DebertaV2Tokenizer"},
      {"deberta", "DebertaTokenizer"},
      {"gte", "XLMRobertaTokenizer"},
      {"t5", "T5Tokenizer"},
      {"mt5", "T5Tokenizer"},
      {"qwen2", "Qwen2Tokenizer"},
      {"mbart", "MBartTokenizer"},
      {"xlm-roberta", "XLMRobertaTokenizer"},
      {"pegasus", "PegasusTokenizer"},
      {"marian", "MarianTokenizer"}};
  if (const auto name = root.find("tokenizer_class"))
    if (name->value.is_string()) return read_class(*name, config);
  const auto type = root.find("model_type");
  if (!type) return Ok{};
  const std::string_view name = HONE_TRY(type->string());
  for (const auto& [model, tokenizer] : kClasses)
    if (name == model) config.tokenizer_class = tokenizer;
  return Ok{};
}

struct ClassDefault {
  std::string_view tokenizer_class, name, token;
};
constexpr ClassDefault kClassDefaults[] = {
    {"GPT2Tokenizer", "bos_token", "<|endoftext|>"},
    {"GPT2Tokenizer", "eos_token", "<|endoftext|>"},
    {"GPT2Tokenizer", "unk_token", "<|endoftext|>"},
    {"Qwen2Tokenizer", "eos_token", "<|endoftext|>"},
    {"Qwen2Tokenizer", "unk_token", "<|endoftext|>"},
    {"Qwen2Tokenizer", "pad_token", "<|endoftext|>"},
    {"LlamaTokenizer", "bos_token", "<s>"},
    {"LlamaTokenizer", "eos_token", "</s>"},
    {"LlamaTokenizer", "unk_token", "<unk>"},
    {"GemmaTokenizer", "bos_token", "<bos>"},
    {"GemmaTokenizer", "eos_token", "<eos>"},
    {"GemmaTokenizer", "pad_token", "<pad>"},
    {"GemmaTokenizer", "unk_token", "<unk>"},
    {"GemmaTokenizer", "mask_token", "<mask>"},
    {"RobertaTokenizer", "bos_token", "<s>"},
    {"RobertaTokenizer", "eos_token", "</s>"},
    {"RobertaTokenizer", "sep_token", "</s>"},
    {"RobertaTokenizer", "cls_token", "<s>"},
    {"RobertaTokenizer", "unk_token", "<unk>"},
    {"RobertaTokenizer", "pad_token", "<pad>"},
    {"RobertaTokenizer", "mask_token", "<mask>"},
    {"T5Tokenizer", "eos_token", "</s>"},
    {"T5Tokenizer", "unk_token", "<unk>"},
    {"T5Tokenizer", "pad_token", "<pad>"},
    {"XLMRobertaTokenizer", "bos_token", "<s>"},
    {"ByT5Tokenizer", "pad_token", "<pad>"},
    {"ByT5Tokenizer", "eos_token", "</s>"},
    {"ByT5Tokenizer", "unk_token", "<unk>"},
    {"XLMRobertaTokenizer", "eos_token", "</s>"},
    {"XLMRobertaTokenizer", "sep_token", "</s>"},
    {"XLMRobertaTokenizer", "cls_token", "<s>"},
    {"XLMRobertaTokenizer", "unk_token", "<unk>"},
    {"XLMRobertaTokenizer", "pad_token", "<pad>"},
    {"XLMRobertaTokenizer", "mask_token", "<mask>"},
    {"MBartTokenizer", "bos_token", "<s>"},
    {"MBartTokenizer", "eos_token", "</s>"},
    {"MBartTokenizer", "sep_token", "</s>"},
    {"MBartTokenizer", "cls_token", "<s>"},
    {"MBartTokenizer", "unk_token", "<unk>"},
    {"MBartTokenizer", "pad_token", "<pad>"},
    {"MBartTokenizer", "mask_token", "<mask>"},
    {"MBart50Tokenizer", "eos_token", "</s>"},
    {"MBart50Tokenizer", "sep_token", "</s>"},
    {"MBart50Tokenizer", "cls_token", "<s>"},
    {"MBart50Tokenizer", "unk_token", "<unk>"},
    {"MBart50Tokenizer", "pad_token", "<pad>"},
    {"MBart50Tokenizer", "mask_token", "<mask>"},
    {"PegasusTokenizer", "eos_token", "</s>"},
    {"PegasusTokenizer", "unk_token", "<unk>"},
    {"PegasusTokenizer", "pad_token", "<pad>"},
    {"PegasusTokenizer", "mask_token", "<mask_2>"},
    {"MarianTokenizer", "eos_token", "</s>"},
    {"MarianTokenizer", "unk_token", "<unk>"},
    {"MarianTokenizer", "pad_token", "<pad>"},
    {"BertTokenizer", "unk_token", "[UNK]"},
    {"BertTokenizer", "sep_token", "[SEP]"},
    {"BertTokenizer", "pad_token", "[PAD]"},
    {"BertTokenizer", "cls_token", "[CLS]"},
    {"BertTokenizer", "mask_token", "[MASK]"},
    {"DebertaTokenizer", "bos_token", "[CLS]"},
    {"DebertaTokenizer", "eos_token", "[SEP]"},
    {"DebertaTokenizer", "unk_token", "[UNK]"},
    {"DebertaTokenizer", "sep_token", "[SEP]"},
    {"DebertaTokenizer", "pad_token", "[PAD]"},
    {"DebertaTokenizer", "cls_token", "[CLS]"},
    {"DebertaTokenizer", "mask_token", "[MASK]"},
    {"AlbertTokenizer", "bos_token", "[CLS]"},
    {"AlbertTokenizer", "eos_token", "[SEP]"},
    {"AlbertTokenizer", "unk_token", "<unk>"},
    {"AlbertTokenizer", "sep_token", "[SEP]"},
    {"AlbertTokenizer", "pad_token", "<pad>"},
    {"AlbertTokenizer", "cls_token", "[CLS]"},
    {"AlbertTokenizer", "mask_token", "[MASK]"},
    {"DebertaV2Tokenizer", "bos_token", "[CLS]"},
    {"DebertaV2Tokenizer", "eos_token", "[SEP]"},
    {"DebertaV2Tokenizer", "unk_token", "[UNK]"},
    {"DebertaV2Tokenizer", "sep_token", "[SEP]"},
    {"DebertaV2Tokenizer", "pad_token", "[PAD]"},
    {"DebertaV2Tokenizer", "cls_token", "[CLS]"},
    {"DebertaV2Tokenizer", "mask_token", "[MASK]"},
    {"CamembertTokenizer", "bos_token", "<s>"},
    {"CamembertTokenizer", "eos_token", "</s>"},
    {"CamembertTokenizer", "unk_token", "<unk>"},
    {"CamembertTokenizer", "sep_token", "</s>"},
    {"CamembertTokenizer", "pad_token", "<pad>"},
    {"CamembertTokenizer", "cls_token", "<s>"},
    {"CamembertTokenizer", "mask_token", "<mask>"},
    {"MPNetTokenizer", "bos_token", "<s>"},
    {"MPNetTokenizer", "eos_token", "</s>"},
    {"MPNetTokenizer", "unk_token", "[UNK]"},
    {"MPNetTokenizer", "sep_token", "</s>"},
    {"MPNetTokenizer", "pad_token", "<pad>"},
    {"MPNetTokenizer", "cls_token", "<s>"},
    {"MPNetTokenizer", "mask_token", "<mask>"},
};

}  // namespace

const AddedToken* TokenizerConfig::find(std::string_view name) const {
  for (const auto& [key, token] : named)
    if (key == name) return &token;
  return nullptr;
}

bool TokenizerConfig::is_roberta() const {
  return tokenizer_class == "RobertaTokenizer" || tokenizer_class == "BartTokenizer" ||
         tokenizer_class == "LongformerTokenizer" || tokenizer_class == "LEDTokenizer";
}

bool TokenizerConfig::is_bert() const {
  constexpr std::string_view kNames[] = {
      "BertTokenizer",     "DistilBertTokenizer",  "ElectraTokenizer",  "MobileBertTokenizer",
      "ConvBertTokenizer", "SqueezeBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer"};
  return std::find(std::begin(kNames), std::end(kNames), tokenizer_class) != std::end(kNames);
}

Result<AddedToken> read_added_token(const JsonAt& spec, bool special_default) {
  AddedToken t;
  t.content = HONE_TRY(spec.string("content"));
  t.single_word = HONE_TRY(spec.boolean_or("single_word", false));
  t.lstrip = HONE_TRY(spec.boolean_or("lstrip", false));
  t.rstrip = HONE_TRY(spec.boolean_or("rstrip", false));
  t.special = HONE_TRY(spec.boolean_or("special", special_default));
  t.normalized = HONE_TRY(spec.boolean_or("normalized", !t.special));
  return t;
}

Result<TokenizerConfig> read_tokenizer_config(const std::string& folder) {
  TokenizerConfig config;
  const std::pair<const char*, Status (*)(const JsonAt&, TokenizerConfig&)> files[] = {
      {"tokenizer_config.json", read_main},
      {"special_tokens_map.json", read_named},
      {"added_tokens.json", read_legacy}};
  for (const auto& [name, read] : files) {
    const std::string path = folder + "/" + name;
    if (!is_file(path)) continue;
    config.files.push_back(path);
    if (config.lists_tokens) continue;  // the files of older versions are not looked at then
    const std::string text = HONE_TRY(read_text_file(path));
    const JsonDocument document = HONE_TRY(JsonDocument::parse(text, path));
    HONE_TRY(read(JsonAt{document.root(), path + ":"}, config));
  }
  const std::string model = folder + "/config.json";
  if (config.tokenizer_class.empty() && is_file(model)) {
    const std::string text = HONE_TRY(read_text_file(model));
    const JsonDocument document = HONE_TRY(JsonDocument::parse(text, model));
    HONE_TRY(read_model_type(JsonAt{document.root(), model + ":"}, config));
  }
  HONE_TRY(read_chat_files(folder, config));
  return config;
}

Status apply_tokenizer_config(const TokenizerConfig& config, TokenizerParts& parts,
                              const Vocabulary* ids) {
  const Vocabulary& vocabulary = ids ? *ids : parts.model->vocabulary();
  const auto add = [&](const AddedToken& t) {
    parts.added.add(t, vocabulary, parts.normalizer.get());
  };
  for (const AddedToken& token : config.listed) add(token);
  for (const AddedToken& token : config.legacy) add(token);
  const std::string class_name = config.is_roberta() ? "RobertaTokenizer"
                                 : config.is_bert()  ? "BertTokenizer"
                                 : config.is_t5()    ? "T5Tokenizer"
                                                     : config.tokenizer_class;
  for (const char* name : kNames) {
    const bool takes_space = (config.is_mbart() || config.is_mpnet() ||
                              config.tokenizer_class == "CamembertTokenizer") &&
                             name == std::string_view("mask_token");
    if (const AddedToken* found = config.find(name)) {
      AddedToken token = *found;
      token.lstrip = token.lstrip || (takes_space && config.mask_is_text);
      add(token);
      *named_field(parts, name) = token.content;
      continue;
    }
    for (const ClassDefault& d : kClassDefaults) {
      if (class_name != d.tokenizer_class || name != d.name) continue;
      // These classes add what the model lacks: DeBERTa's has no [MASK].
      const bool adds = config.is_spm_encoder() || config.is_mpnet() || config.is_deberta();
      if (!adds && !parts.added.find(d.token) && !vocabulary.find(d.token)) continue;
      AddedToken token;
      token.content = d.token;
      token.lstrip = takes_space;
      add(token);
      *named_field(parts, name) = token.content;
    }
  }
  for (const AddedToken& token : config.extra) add(token);
  if (config.model_max_length) parts.model_max_length = config.model_max_length;
  if (config.truncates_left) parts.truncates_left = *config.truncates_left;
  if (!config.chat_template.empty()) parts.chat_template = config.chat_template;
  parts.tool_chat_template = config.tool_chat_template;
  return Ok{};
}

}  // namespace hone
