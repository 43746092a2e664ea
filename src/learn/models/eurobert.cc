// EuroBERT (Boizard et al. 2025, arXiv 2503.05500): the layers of llama_blocks.h whose tokens see both
// sides. Classifiers of sequences take the mean over tokens after their own layer ("late"), before it
// ("mean"), or the first token ("bos").
#include "learn/models/encoder.h"
#include "learn/models/errors.h"
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualEuro =
    R"({"vocab_size": 128256, "hidden_size": 768, "intermediate_size": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 12,
    "hidden_act": "silu", "max_position_embeddings": 8192, "initializer_range": 0.02,
    "rms_norm_eps": 1e-05, "pad_token_id": 128001, "bos_token_id": 128000,
    "eos_token_id": 128001, "mask_token_id": 128002, "attention_bias": false,
    "attention_dropout": 0.0, "mlp_bias": false, "classifier_pooling": "late",
    "tie_word_embeddings": false,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

std::string pooling_of(const ModelConfig& c) { return c.text("classifier_pooling", "late"); }

Status read_euro_config(ModelConfig& c) {
  HONE_TRY(read_llama_config(c, 8192));
  const std::string pooling = pooling_of(c);
  if (pooling != "late" && pooling != "mean" && pooling != "bos")
    return Error(err::kConfigNotOffered,
                 fmt::format("config.json: classifier_pooling '{}' is not supported", pooling))
        .todo("late, mean and bos work");
  return Ok{};
}

ValueId euro_body(ModelGraph& g) {
  const ModelConfig& c = g.config;
  const bool attention = c.flag("attention_bias", false);
  return llama_body(g, {.qkv_bias = attention,
                        .output_bias = attention,
                        .mlp_bias = c.flag("mlp_bias", false),
                        .causal = false});
}

HeadLayer euro_head(ModelGraph& g, ValueId x) {
  const ModelConfig& c = g.config;
  g.of_head = true;
  if (c.head == Head::masked_lm) {
    HeadLayer head = llama_head(g, x);
    if (c.flag("mlp_bias", false)) head.bias = g.zeros("lm_head.bias", c.vocab);
    return head;
  }
  if (c.head == Head::token_classification) return encoder_classifier(g, "classifier", x);
  const std::string pooling = pooling_of(c);
  if (pooling == "mean") x = mean_of_sequences(g, x);
  if (pooling == "bos") x = g.first_tokens(x);
  const bool late = pooling == "late";
  x = ops::gelu(
      g.b, g.linear("dense", x, c.hidden,
                    {.rows = late ? LinearLayer::Rows::tokens : LinearLayer::Rows::sequences}));
  // The mean of the tokens' logits is what the classifier makes of their mean.
  return encoder_classifier(g, "classifier", late ? mean_of_sequences(g, x) : x);
}

std::string euro_unwritable(const ModelConfig& c) {
  for (const char* key : {"attention_bias", "mlp_bias"})
    if (c.flag(key, false)) return fmt::format("its {} is true", key);
  if (c.head_dim * c.heads != c.hidden) return "its heads together are not the hidden size";
  return "";
}

const GgufLayout* gguf_of_eurobert() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("eurobert", "");
    std::erase_if(g.once, [](const GgufName& name) { return name.gguf == "output"; });
    g.head = Head::none;
    g.unwritable = euro_unwritable;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_eurobert() {
  return {.name = "eurobert",
          .model_types = {{"eurobert", "EuroBert", kUsualEuro, {}, gguf_of_eurobert()}},
          .heads = encoder_heads(),
          .read_config = read_euro_config,
          .body = euro_body,
          .head = euro_head,
          .dropouts = {"attention_dropout"},
          .body_prefix = "model.",
          .unread = {".rotary_emb.inv_freq"},
          .separate_head = "lm_head.weight"};
}

}  // namespace hone
