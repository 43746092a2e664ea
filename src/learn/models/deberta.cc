// DeBERTa (He et al. 2021, arXiv 2006.03654): a row for each distance up to a largest one; queries,
// keys and values of each head beside each other in one layer, without a bias of the keys.
#include "learn/models/deberta_blocks.h"

namespace hone {
namespace {

// Defaults of Transformers' config class.
constexpr const char* kUsualDeberta =
    R"({"vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12,
    "num_attention_heads": 12, "intermediate_size": 3072, "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 512, "type_vocab_size": 0, "initializer_range": 0.02,
    "layer_norm_eps": 1e-7, "relative_attention": false, "max_relative_positions": -1,
    "pad_token_id": 0, "bos_token_id": null, "eos_token_id": null,
    "position_biased_input": true, "pos_att_type": null, "pooler_dropout": 0.0,
    "pooler_hidden_act": "gelu", "legacy": true, "tie_word_embeddings": true})";

DebertaParts parts_of_v1(ModelGraph& g, const std::string& at, ValueId x, ValueId rows) {
  Builder& b = g.b;
  const ModelConfig& c = g.config;
  const int64_t C = c.hidden, D = c.head_dim;
  DebertaParts p;
  ValueId all = g.linear(at + "in_proj", x, 3 * C, {.bias = false});  // [T,H*3*D]
  const int64_t tokens = b.type(all).shape[0];
  all = ops::reshape(b, all, {tokens, c.heads, 3 * D});
  const auto third = [&](int64_t i) {
    return ops::reshape(b, ops::slice(b, all, 2, i * D, (i + 1) * D), {tokens, C});
  };
  const auto biased = [&](ValueId y, const char* name) {
    const ValueId bias = g.zeros(at + name, C);
    return ops::add(b, y, ops::broadcast(b, bias, {tokens, C}, {1}));
  };
  p.q = biased(third(0), "q_bias");
  p.k = third(1);
  p.v = biased(third(2), "v_bias");
  if (rows == kNoValue) return p;
  if (has_position(c, "c2p"))
    p.position_keys =
        g.linear(at + "pos_proj", rows, C, {.bias = false, .rows = LinearLayer::Rows::table});
  if (has_position(c, "p2c"))
    p.position_queries = g.linear(at + "pos_q_proj", rows, C, {.rows = LinearLayer::Rows::table});
  return p;
}

constexpr DebertaStyle kVersion1{.buckets = false, .table_norm = false, .parts = parts_of_v1};

}  // namespace

Family family_deberta() {
  return deberta_family<kVersion1>(
      {.name = "deberta", .model_types = {{"deberta", "Deberta", kUsualDeberta, {"in_proj"}}}});
}

}  // namespace hone
