#include "learn/checkpoint/imports/megatron_layout.h"

#include <charconv>

namespace hone {
namespace {

struct MegatronName {
  std::string_view name, part;
};
// Modules of a layer: of Megatron core, with its fused norms, and of the older model.
constexpr MegatronName kLayerModules[] = {
    {"input_layernorm.", "input_norm"},
    {"input_norm.", "input_norm"},
    {"self_attention.linear_qkv.layer_norm_", "input_norm"},
    {"self_attention.linear_qkv.", "qkv"},
    {"self_attention.query_key_value.", "qkv"},
    {"self_attention.linear_proj.", "proj"},
    {"self_attention.dense.", "proj"},
    {"pre_mlp_layernorm.", "mlp_norm"},
    {"post_attention_layernorm.", "mlp_norm"},
    {"post_attention_norm.", "mlp_norm"},
    {"mlp.linear_fc1.layer_norm_", "mlp_norm"},
    {"mlp.linear_fc1.", "fc1"},
    {"mlp.dense_h_to_4h.", "fc1"},
    {"mlp.linear_fc2.", "fc2"},
    {"mlp.dense_4h_to_h.", "fc2"},
};
constexpr MegatronName kOtherModules[] = {
    {"embedding.word_embeddings.", "words"},
    {"embedding.position_embeddings.", "positions"},
    {"decoder.final_layernorm.", "last_norm"},
    {"encoder.final_layernorm.", "last_norm"},
    {"encoder.final_norm.", "last_norm"},
    {"transformer.final_layernorm.", "last_norm"},
    {"output_layer.", "head"},
};

// Takes the name of a module off the front and gives its part; "": the name has another front.
template <size_t n>
std::string part_of_name(const MegatronName (&modules)[n], std::string_view& name) {
  for (const MegatronName& m : modules)
    if (name.starts_with(m.name)) {
      name.remove_prefix(m.name.size());
      return std::string(m.part);
    }
  return "";
}

// Rows [from, from + rows) of a rank's part are the rows from `to` on of the whole.
struct RowBlock {
  size_t rank;
  int64_t from, rows, to;
};

class WeightJoin {
 public:
  WeightJoin(const MegatronShape& shape, const MegatronWeight& weight,
             const std::vector<RankTensor>& ranks, const std::string& prefix, PieceWeights& to)
      : shape_(shape), weight_(weight), ranks_(ranks), prefix_(prefix), to_(to) {}

  std::string join() {
    for (const RankTensor& r : ranks_)
      if (type(r).shape.size() != type(ranks_[0]).shape.size() || type(r).shape.empty() ||
          type(r).shape.size() > 2 || type(r).dtype != type(ranks_[0]).dtype)
        return "differs between ranks";
    const std::string& part = weight_.part;
    if (part == "qkv") return query_key_value();
    if (part == "fc1") return first_of_mlp();
    if (part == "words" || part == "head") return rows_in_turn(name_of(part));
    if ((part == "proj" || part == "fc2") && weight_.leaf == "weight")
      return columns_in_turn(name_of(part));
    return whole(name_of(part));
  }

 private:
  static const Type& type(const RankTensor& r) { return r.source->find(r.name)->type; }
  int64_t rows(size_t rank) const { return type(ranks_[rank]).shape[0]; }

  std::string name_of(std::string_view part) const {
    struct Names {
      std::string_view part, gpt2, llama;
    };
    static constexpr Names kNames[] = {
        {"input_norm", "ln_1", "input_layernorm"},
        {"qkv", "attn.c_attn", ""},
        {"q", "", "self_attn.q_proj"},
        {"k", "", "self_attn.k_proj"},
        {"v", "", "self_attn.v_proj"},
        {"proj", "attn.c_proj", "self_attn.o_proj"},
        {"mlp_norm", "ln_2", "post_attention_layernorm"},
        {"fc1", "mlp.c_fc", ""},
        {"gate", "", "mlp.gate_proj"},
        {"up", "", "mlp.up_proj"},
        {"fc2", "mlp.c_proj", "mlp.down_proj"},
        {"words", "transformer.wte", "model.embed_tokens"},
        {"positions", "transformer.wpe", ""},
        {"last_norm", "transformer.ln_f", "model.norm"},
        {"head", "lm_head", "lm_head"},
    };
    for (const Names& n : kNames) {
      const std::string_view name = shape_.llama ? n.llama : n.gpt2;
      if (n.part != part || name.empty()) continue;
      if (weight_.layer < 0) return fmt::format("{}.{}", name, weight_.leaf);
      return fmt::format("{}.{}.{}.{}", shape_.llama ? "model.layers" : "transformer.h",
                         weight_.layer, name, weight_.leaf);
    }
    return "";
  }

  std::string add(const std::string& name, Shape whole, std::vector<TensorPiece> pieces) {
    if (name.empty()) return "is not in models of this kind";
    TensorInfo info = *ranks_[0].source->find(ranks_[0].name);
    info.name = prefix_ + name;
    info.type.shape = std::move(whole);
    info.bytes = info.type.bytes();
    if (to_.find(info.name) != nullptr) return "is there twice";
    if (std::string fault = fault_of_pieces(info.type.shape, pieces); !fault.empty()) return fault;
    to_.add_pieces(std::move(info), std::move(pieces));
    return "";
  }
  std::string add_rows(const std::string& name, const std::vector<RowBlock>& blocks) {
    Shape all = type(ranks_[0]).shape;
    const int64_t columns = all.size() == 2 ? all[1] : 1;
    all[0] = 0;
    for (const RowBlock& b : blocks) {
      if (b.from + b.rows > rows(b.rank)) return "has too few rows for the run's arguments";
      if (type(ranks_[b.rank]).shape.back() != columns && all.size() == 2)
        return "differs between ranks";
      all[0] += b.rows;
    }
    std::vector<TensorPiece> pieces;
    for (const RowBlock& b : blocks) {
      Shape offset(all.size(), 0), sizes = all;
      offset[0] = b.to;
      sizes[0] = b.rows;
      const RankTensor& r = ranks_[b.rank];
      pieces.push_back({r.source, r.name, b.from * columns, all, offset, sizes});
    }
    return add(name, all, std::move(pieces));
  }
  std::string rows_in_turn(const std::string& name) {
    std::vector<RowBlock> blocks;
    int64_t at = 0;
    for (size_t r = 0; r < ranks_.size(); at += rows(r), ++r) blocks.push_back({r, 0, rows(r), at});
    return add_rows(name, blocks);
  }
  std::string columns_in_turn(const std::string& name) {
    Shape all = type(ranks_[0]).shape;
    if (all.size() != 2) return "is not a matrix";
    all[1] = 0;
    for (const RankTensor& r : ranks_) all[1] += type(r).shape[1];
    std::vector<TensorPiece> pieces;
    int64_t at = 0;
    for (const RankTensor& r : ranks_) {
      const Shape& own = type(r).shape;
      if (own[0] != all[0]) return "differs between ranks";
      pieces.push_back({r.source, r.name, 0, all, {0, at}, own});
      at += own[1];
    }
    return add(name, all, std::move(pieces));
  }
  // Every rank has the same.
  std::string whole(const std::string& name) {
    for (const RankTensor& r : ranks_)
      if (type(r).shape != type(ranks_[0]).shape) return "differs between ranks";
    return add_rows(name, {{0, 0, rows(0), 0}});
  }

  // A rank has whole groups of heads: the queries of a group, its keys, its values.
  std::string query_key_value() {
    const auto ranks = static_cast<int64_t>(ranks_.size());
    const int64_t D = shape_.head_dim, each = shape_.heads / shape_.groups;
    if (shape_.groups % ranks != 0) return "has groups of heads that are on several ranks";
    const int64_t own = shape_.groups / ranks, unit = (each + 2) * D;
    std::vector<RowBlock> q, k, v;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      if (rows(r) != own * unit) return "has not the rows of the run's heads";
      for (int64_t g = 0; g < own; ++g) {
        const int64_t group = static_cast<int64_t>(r) * own + g;
        q.push_back({r, g * unit, each * D, group * each * D});
        k.push_back({r, g * unit + each * D, D, group * D});
        v.push_back({r, g * unit + (each + 1) * D, D, group * D});
      }
    }
    if (shape_.llama) {
      std::string fault = add_rows(name_of("q"), q);
      if (fault.empty()) fault = add_rows(name_of("k"), k);
      return fault.empty() ? add_rows(name_of("v"), v) : fault;
    }
    for (RowBlock& b : k) b.to += shape_.heads * D;
    for (RowBlock& b : v) b.to += (shape_.heads + shape_.groups) * D;
    q.insert(q.end(), k.begin(), k.end());
    q.insert(q.end(), v.begin(), v.end());
    return add_rows(name_of("qkv"), q);
  }
  // A gated MLP's part of a rank has the rows of its gate, then of its other projection.
  std::string first_of_mlp() {
    if (!shape_.llama) return rows_in_turn(name_of("fc1"));
    std::vector<RowBlock> gate, up;
    int64_t at = 0;
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const int64_t half = rows(r) / 2;
      if (rows(r) % 2 != 0) return "has an odd number of rows";
      gate.push_back({r, 0, half, at});
      up.push_back({r, half, half, at});
      at += half;
    }
    const std::string fault = add_rows(name_of("gate"), gate);
    return fault.empty() ? add_rows(name_of("up"), up) : fault;
  }

  const MegatronShape& shape_;
  const MegatronWeight& weight_;
  const std::vector<RankTensor>& ranks_;
  const std::string& prefix_;
  PieceWeights& to_;
};

}  // namespace

std::optional<MegatronWeight> megatron_weight(std::string_view name) {
  constexpr std::string_view kLegacy = "language_model.";
  if (name.starts_with(kLegacy)) name.remove_prefix(kLegacy.size());
  MegatronWeight w;
  for (const std::string_view stack :
       {"decoder.layers.", "encoder.layers.", "transformer.layers."}) {
    if (!name.starts_with(stack)) continue;
    name.remove_prefix(stack.size());
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), w.layer);
    if (wrong != std::errc() || w.layer < 0 || end == name.data() + name.size() || *end != '.')
      return {};
    name.remove_prefix(static_cast<size_t>(end - name.data()) + 1);
    w.part = part_of_name(kLayerModules, name);
    break;
  }
  if (w.layer < 0) w.part = part_of_name(kOtherModules, name);
  w.leaf = name;
  if (w.part.empty() || (w.leaf != "weight" && w.leaf != "bias")) return {};
  return w;
}

std::string add_megatron_weight(const MegatronShape& shape, const MegatronWeight& weight,
                                const std::vector<RankTensor>& ranks, const std::string& prefix,
                                PieceWeights& to) {
  return WeightJoin(shape, weight, ranks, prefix, to).join();
}

bool is_transposed(const MegatronShape& shape, std::string_view name) {
  if (shape.llama) return false;
  for (const std::string_view end : {".c_attn.weight", ".c_proj.weight", ".c_fc.weight"})
    if (name.ends_with(end)) return true;
  return false;
}

bool is_padded_table(const MegatronShape& shape, std::string_view name) {
  return name == "lm_head.weight" ||
         name == (shape.llama ? "model.embed_tokens.weight" : "transformer.wte.weight");
}

}  // namespace hone
