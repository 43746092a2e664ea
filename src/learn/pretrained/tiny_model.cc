#include "learn/pretrained/tiny_model.h"

#include "base/core/json.h"
#include "base/core/text.h"

namespace hone {
namespace {

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

// One text and a pair, with the special tokens around each; null: there are none.
OrderedJson post_processor(const TinyModel& model) {
  if (model.before.empty() && model.after.empty()) return nullptr;
  const auto text = [](OrderedJson& list, const char* id) {
    list.push_back({{"Sequence", {{"id", id}, {"type_id", 0}}}});
  };
  const auto special = [](OrderedJson& list, const std::string& token) {
    if (!token.empty()) list.push_back({{"SpecialToken", {{"id", token}, {"type_id", 0}}}});
  };
  OrderedJson single = OrderedJson::array(), pair = OrderedJson::array();
  for (OrderedJson* list : {&single, &pair}) {
    special(*list, model.before);
    text(*list, "A");
    special(*list, model.after);
  }
  if (!model.before.empty()) special(pair, model.after);
  text(pair, "B");
  special(pair, model.after);
  OrderedJson post = {{"single", single}, {"pair", pair}};
  OrderedJson specials = OrderedJson::object();
  for (const int i : {0, 2})
    specials[kSpecials[i]] = {{"id", kSpecials[i]},
                              {"ids", OrderedJson::array({i})},
                              {"tokens", OrderedJson::array({kSpecials[i]})}};
  post["type"] = "TemplateProcessing";
  post["special_tokens"] = specials;
  return post;
}

std::string tokenizer_json(const TinyModel& model) {
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
  const OrderedJson post = post_processor(model);
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

OrderedJson tiny_config(OrderedJson own) {
  OrderedJson j = {
      {"vocab_size", kVocabulary}, {"bos_token_id", 0}, {"pad_token_id", 1}, {"eos_token_id", 2}};
  j.update(own);
  return j;
}

}  // namespace

TinyModel tiny_decoder(const std::string& hub) {
  return {.config = tiny_config({{"model_type", "gpt2"},
                                 {"architectures", {"GPT2LMHeadModel"}},
                                 {"n_embd", 32},
                                 {"n_layer", 2},
                                 {"n_head", 4},
                                 {"n_positions", 256}}),
          .before = "",
          .after = "",
          .hub = hub};
}

TinyModel tiny_encoder(const std::string& hub) {
  return {.config = tiny_config({{"model_type", "roberta"},
                                 {"architectures", {"RobertaForMaskedLM"}},
                                 {"hidden_size", 32},
                                 {"num_hidden_layers", 2},
                                 {"num_attention_heads", 4},
                                 {"intermediate_size", 64},
                                 {"max_position_embeddings", 258},
                                 {"type_vocab_size", 1}}),
          .before = "<s>",
          .after = "</s>",
          .hub = hub};
}

TinyModel tiny_encoder_decoder() {
  return {.config = tiny_config({{"model_type", "t5"},
                                 {"architectures", {"T5ForConditionalGeneration"}},
                                 {"d_model", 32},
                                 {"d_kv", 8},
                                 {"d_ff", 64},
                                 {"num_layers", 2},
                                 {"num_heads", 4},
                                 {"decoder_start_token_id", 1}}),
          .before = "",
          .after = "</s>",
          .hub = "t5-small"};
}

TinyModel tiny_image_model() {
  const OrderedJson size = {{"height", 32}, {"width", 32}};
  return {.config = {{"model_type", "vit"},
                     {"architectures", {"ViTForImageClassification"}},
                     {"hidden_size", 32},
                     {"num_hidden_layers", 2},
                     {"num_attention_heads", 4},
                     {"intermediate_size", 64},
                     {"image_size", 32},
                     {"patch_size", 8}},
          .before = "",
          .after = "",
          .hub = "google/vit-base-patch16-224-in21k",
          .processor = {{"image_processor_type", "ViTImageProcessor"},
                        {"do_resize", true},
                        {"size", size},
                        {"resample", 2},
                        {"do_rescale", true},
                        {"do_normalize", true},
                        {"image_mean", {0.5, 0.5, 0.5}},
                        {"image_std", {0.5, 0.5, 0.5}}}};
}

std::map<std::string, std::string> tiny_model_files(const TinyModel& model) {
  std::map<std::string, std::string> files = {
      {"config.json", dump_json(model.config, {.indent = 2}) + "\n"}};
  if (!model.processor.is_null()) {
    files["preprocessor_config.json"] = dump_json(model.processor, {.indent = 2}) + "\n";
    return files;
  }
  const OrderedJson tokenizer = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                                 {"bos_token", "<s>"},
                                 {"eos_token", "</s>"},
                                 {"pad_token", "<pad>"},
                                 {"unk_token", "<unk>"},
                                 {"mask_token", "<mask>"}};
  files["tokenizer.json"] = tokenizer_json(model);
  files["tokenizer_config.json"] = dump_json(tokenizer, {.indent = 2}) + "\n";
  return files;
}

}  // namespace hone
