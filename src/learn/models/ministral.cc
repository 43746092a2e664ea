// Ministral: Mistral's blocks.
//   ministral   windows in some of the layers
//   ministral3  yarn, and queries that grow with their position as in Llama 4
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config classes.
constexpr const char* kUsualMinistral =
    R"({"vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 131072,
    "initializer_range": 0.02, "rms_norm_eps": 1e-06, "tie_word_embeddings": false,
    "attention_dropout": 0.0, "pad_token_id": null, "bos_token_id": 1, "eos_token_id": 2,
    "sliding_window": 4096, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";
constexpr const char* kUsualMinistral3 =
    R"({"vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 34, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "hidden_act": "silu", "max_position_embeddings": 262144,
    "initializer_range": 0.02, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "attention_dropout": 0.0, "pad_token_id": 11, "bos_token_id": 1, "eos_token_id": 2,
    "sliding_window": null, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0,
      "factor": 16.0, "original_max_position_embeddings": 16384, "beta_fast": 32.0,
      "beta_slow": 1.0, "mscale_all_dim": 1.0, "mscale": 1.0, "llama_4_scaling_beta": 0.1}})";

ValueId longer_queries(ModelGraph& g, const std::string&, char which, ValueId x, int64_t) {
  return which == 'q' ? Rotation(g, {}).scale_queries(x) : x;
}

bool is_ministral3(const ModelConfig& c) { return c.text("model_type", "") == "ministral3"; }

LlamaStyle ministral_style(const ModelConfig& c) {
  return {.after_rotation = is_ministral3(c) ? longer_queries : nullptr};
}

Status read_ministral_config(ModelConfig& c) {
  HONE_TRY(read_decoder_config(c, is_ministral3(c) ? kUsualMinistral3 : kUsualMinistral,
                               ministral_style(c)));
  c.window = HONE_TRY(c.integer("sliding_window", 0));
  return Ok{};
}

const GgufLayout* gguf_of_ministral3() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("mistral3", kGgufHeadSize);
    g.keys.push_back({"attention.value_length", ""});
    g.interleaves_heads = true;
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_ministral() {
  return llama_family<ministral_style>(
      {.name = "ministral",
       .model_types = {{"ministral3",
                        "Ministral3",
                        kUsualMinistral3,
                        {"q_proj", "v_proj"},
                        gguf_of_ministral3()},
                       {"ministral", "Ministral", kUsualMinistral, {"q_proj", "v_proj"}}},
       .read_config = read_ministral_config});
}

}  // namespace hone
