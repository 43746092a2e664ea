// DeBERTa, versions 2 and 3 (He et al., arXiv 2006.03654 and 2111.09543): relative positions in
// logarithmic buckets, whose keys and queries may share the layers of the contents; version 2 may
// have a convolution over the tokens beside its first layer.
#include "learn/models/deberta_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class, and the keys that the models of the authors have.
constexpr const char* kUsualDebertaV2 =
    R"({"vocab_size": 128100, "hidden_size": 1536, "num_hidden_layers": 24,
    "num_attention_heads": 24, "intermediate_size": 6144, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 0, "initializer_range": 0.02,
    "layer_norm_eps": 1e-7, "relative_attention": false, "max_relative_positions": -1,
    "position_buckets": -1, "norm_rel_ebd": "none", "share_att_key": false,
    "conv_kernel_size": 0, "pad_token_id": 0, "bos_token_id": null, "eos_token_id": null,
    "position_biased_input": true, "pos_att_type": null, "pooler_dropout": 0.0,
    "pooler_hidden_act": "gelu", "legacy": true, "tie_word_embeddings": true})";

DebertaParts parts_of_v2(ModelGraph& g, const std::string& at, ValueId x, ValueId rows) {
  const ModelConfig& c = g.config;
  const LinearLayer of_table{.rows = LinearLayer::Rows::table};
  const bool shared = c.flag("share_att_key", false);
  DebertaParts p;
  p.q = g.linear(at + "query_proj", x, c.hidden);  // [T,C]
  p.k = g.linear(at + "key_proj", x, c.hidden);
  p.v = g.linear(at + "value_proj", x, c.hidden);
  if (rows == kNoValue) return p;
  if (has_position(c, "c2p"))
    p.position_keys =
        g.linear(at + (shared ? "key_proj" : "pos_key_proj"), rows, c.hidden, of_table);
  if (has_position(c, "p2c"))
    p.position_queries =
        g.linear(at + (shared ? "query_proj" : "pos_query_proj"), rows, c.hidden, of_table);
  return p;
}

constexpr DebertaStyle kVersion2{.parts = parts_of_v2, .multiple_choice = true};

}  // namespace

Family family_deberta_v2() {
  return deberta_family<kVersion2>(
      {.name = "deberta_v2",
       .model_types = {
           {"deberta-v2", "DebertaV2", kUsualDebertaV2, {"query_proj", "value_proj"}}}});
}

}  // namespace hone
