// Hunyuan's dense models (Tencent): Llama's blocks with an RMS norm over each head's queries and
// keys after they have turned, and a rotation scaled by alpha.
#include "learn/models/llama_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualHunyuan =
    R"({"vocab_size": 290943, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": null,
    "head_dim": null, "hidden_act": "silu", "max_position_embeddings": 2048,
    "initializer_range": 0.02, "rms_norm_eps": 1e-05, "tie_word_embeddings": false,
    "attention_bias": false, "attention_dropout": 0.0, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "eod_token_id": 3,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"}})";

ValueId norm_of_turned_heads(ModelGraph& g, const std::string& at, char which, ValueId x,
                             int64_t heads) {
  const Shape whole = g.b.type(x).shape;  // [T,heads*D]
  x = ops::reshape(g.b, x, {whole[0] * heads, g.config.head_dim});
  x = g.rms_norm(fmt::format("{}{}_layernorm", at, which == 'q' ? "query" : "key"), x,
                 g.config.real("rms_norm_eps", 1e-5));
  return ops::reshape(g.b, x, whole);
}

LlamaStyle hunyuan_style(const ModelConfig& c) {
  const bool bias = c.flag("attention_bias", false);
  return {.qkv_bias = bias, .output_bias = bias, .after_rotation = norm_of_turned_heads};
}

Status read_hunyuan_config(ModelConfig& c) {
  // Keys of the published folders that Transformers does not read.
  return read_decoder_config(c, kUsualHunyuan, hunyuan_style(c),
                             {"attention_head_dim",
                              "cla_share_factor",
                              "use_cla",
                              "use_qk_norm",
                              "use_rotary_pos_emb",
                              "norm_type",
                              "mlp_bias",
                              "im_start_id",
                              "im_end_id",
                              "im_newline_id",
                              "text_start_id",
                              "text_end_id",
                              "image_token_id",
                              "sep_token_id",
                              "org_vocab_size",
                              "add_classification_head",
                              "class_num",
                              "mask_init_id",
                              "num_experts",
                              "pool_type",
                              "position_embedding_xdrope",
                              "enable_lm_head_fp32"});
}

const GgufLayout* gguf_of_hunyuan() {
  static const GgufLayout layout = [] {
    GgufLayout g = llama_gguf("hunyuan-dense", kGgufHeadSize);
    g.keys.push_back({"attention.value_length", ""});
    rename_tensors(g, {{"attn_q_norm", "self_attn.query_layernorm"},
                       {"attn_k_norm", "self_attn.key_layernorm"}});
    g.unwritable = [](const ModelConfig& c) -> std::string {
      return c.flag("attention_bias", false) ? "its attention has biases" : "";
    };
    return g;
  }();
  return &layout;
}

}  // namespace

Family family_hunyuan() {
  return llama_family<hunyuan_style>({.name = "hunyuan",
                                      .model_types = {{"hunyuan_v1_dense",
                                                       "HunYuanDenseV1",
                                                       kUsualHunyuan,
                                                       {"q_proj", "v_proj"},
                                                       gguf_of_hunyuan()}},
                                      .read_config = read_hunyuan_config});
}

}  // namespace hone
