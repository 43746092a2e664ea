#include "learn/models/experts.h"

#include <cmath>
#include <set>

#include "learn/models/activations.h"
#include "learn/models/errors.h"
#include "learn/models/gguf_layout.h"
#include "learn/models/router_loss.h"

namespace hone {
namespace {

// Transformers has two names for the number of experts.
constexpr const char* kCounts[] = {"num_experts", "num_local_experts"};

Status refuse(const char* key, const nlohmann::json& value, const char* todo) {
  return Error(err::kConfigNotOffered,
               fmt::format("config.json: '{}' is {}, which is not supported", key, value.dump()))
      .todo(todo);
}

// The parts of one layer.
class Experts {
 public:
  Experts(ModelGraph& g, const ExpertStyle& style, std::string at)
      : g_(g),
        b_(g.b),
        style_(style),
        at_(std::move(at)),
        C_(g.config.hidden),
        E_(g.config.integer(style.count).value()),
        k_(g.config.integer(style.chosen).value()),
        F_(g.config.integer(style.inner).value()) {}

  ValueId mix(ValueId x) {
    if (style_.is_gpt_oss) return mix_with_biases(x);
    const ValueId given = scores(x);
    const ops::TopK top = ops::top_k(b_, ops::softmax(b_, given), k_);
    keep_router(g_, given, top.columns);
    return mix(x, {top.columns, shares(top.values)});
  }

  ValueId mix(ValueId x, const Routing& routing) {
    const ops::Groups groups = grouped(routing.chosen, x);
    const ValueId sorted = ops::gather_rows(b_, x, groups.rows);  // [T*k,C]
    auto [gate, up] = gate_and_up(sorted, groups.starts);
    if (const auto a = adapter_of(kGateUp, C_, 2 * F_)) {
      const ValueId low = a->low(b_, sorted, groups.starts);
      gate = ops::add(b_, gate, a->up(b_, low, groups.starts, 0, F_));
      up = ops::add(b_, up, a->up(b_, low, groups.starts, F_, 2 * F_));
    }
    const ValueId inner = ops::gate(b_, gate, up, activation_kind(style_.act));
    ValueId out = multiplied(inner, down(), groups.starts);
    if (const auto a = adapter_of(kDown, F_, C_)) out = a->added(b_, out, inner, groups.starts);
    return ops::combine_rows(b_, out, groups.places, routing.shares);
  }

  // gate min(gate, limit), up within limits: gate sigmoid(alpha gate) (up + 1). The router's shares are the
  // softmax of the scores of the experts that it has chosen.
  ValueId mix_with_biases(ValueId x) {
    ParamSpec router{at_ + "router.weight", {E_, C_}};
    router.std = g_.init_std;
    const ValueId weight = g_.weight(std::move(router)), bias = g_.zeros(at_ + "router.bias", E_);
    const ValueId scores = ops::linear(b_, x, weight, {.bias = bias, .trans_w = true});
    const ops::TopK top = ops::top_k(b_, scores, k_);
    keep_router(g_, scores, top.columns);
    const ops::Groups groups = grouped(top.columns, x);
    const ValueId sorted = ops::gather_rows(b_, x, groups.rows);
    const ValueId both = multiplied_with_bias(sorted, kGateUp, 2 * F_, groups);
    const int64_t rows = b_.type(sorted).shape[0];
    const ValueId pairs = ops::reshape(b_, both, {rows * F_, 2});
    const auto part = [&](int64_t i) {
      return ops::reshape(b_, ops::slice(b_, pairs, 1, i, i + 1), {rows, F_});
    };
    const double limit = g_.config.real("swiglu_limit", 7),
                 alpha = g_.config.real("swiglu_alpha", 1.702);
    const ValueId gate = ops::minimum(b_, part(0), number(limit));
    const ValueId up = ops::maximum(b_, ops::minimum(b_, part(1), number(limit)), number(-limit));
    const ValueId open = ops::mul(b_, gate, sigmoid(b_, ops::mul(b_, gate, number(alpha))));
    const ValueId inner = ops::mul(b_, ops::add(b_, up, number(1)), open);
    const ValueId out = multiplied_with_bias(inner, kDown, C_, groups);
    return ops::combine_rows(b_, out, groups.places, ops::softmax(b_, top.values));
  }

  // sigmoid(x w) times an MLP of x.
  ValueId shared(ValueId x) {
    const std::string at = at_ + "shared_expert.";
    const LinearLayer plain{.bias = false};
    const ValueId gate = g_.linear(at + "gate_proj", x, style_.shared_inner, plain);
    const ValueId up = g_.linear(at + "up_proj", x, style_.shared_inner, plain);
    const ValueId inner = ops::gate(b_, gate, up, activation_kind(style_.act));
    const ValueId out = g_.linear(at + "down_proj", inner, C_, plain);
    const ValueId open = sigmoid(b_, g_.linear(at_ + "shared_expert_gate", x, 1, plain));  // [T,1]
    const Shape shape = b_.type(out).shape;
    return ops::mul(b_, out, ops::broadcast(b_, ops::reshape(b_, open, {shape[0]}), shape, {0}));
  }

 private:
  static constexpr const char *kGateUp = "gate_up_proj", *kDown = "down_proj";

  // The LoRA of a stacked matrix: for each expert scale (x A^T) B^T.
  struct LowRank {
    ValueId first, second;  // [E,r,in], [E,out,r]
    double scale;
    ValueId low(Builder& b, ValueId x, ValueId starts) const {  // [T*k,r]
      const ValueId y = ops::grouped_matmul(b, x, first, starts, true);
      return scale == 1 ? y : ops::mul(b, y, ops::constant(b, scale, {DType::f32, {}}));
    }
    // Columns [begin, end) of what the adapter adds.
    ValueId up(Builder& b, ValueId low, ValueId starts, int64_t begin, int64_t end) const {
      const bool all = end - begin == b.type(second).shape[1];
      return ops::grouped_matmul(b, low, all ? second : ops::slice(b, second, 1, begin, end),
                                 starts, true);
    }
    ValueId added(Builder& b, ValueId y, ValueId x, ValueId starts) const {
      return ops::add(b, y, up(b, low(b, x, starts), starts, 0, b.type(second).shape[1]));
    }
  };
  // PEFT wraps the module once for each adapted parameter, the first one innermost, and keeps A of all experts one
  // after the other, B with the expert as the last index.
  std::optional<LowRank> adapter_of(const std::string& parameter, int64_t in, int64_t out) {
    const Adapter* adapter = g_.config.adapter.get();
    const std::string module = merged_at() + "experts";
    const auto adapts = [&](const std::string& name) {
      return adapter != nullptr && adapter->adapts_parameter(module + "." + name);
    };
    if (!adapts(parameter)) return std::nullopt;
    const std::string at =
        kAdapterPrefix + module + (parameter == kGateUp && adapts(kDown) ? ".base_layer" : "");
    const std::string name = module + "." + parameter;
    const int64_t rank = adapter->rank_of(name);
    const auto added = [&](const char* which, Shape shape, ParamSpec::Init init) {
      ParamSpec spec{at + which, std::move(shape), init};
      spec.std = 1 / std::sqrt(static_cast<double>(in));  // as ModelGraph::adapted
      spec.part = ParamSpec::Part::added;
      return g_.weight(std::move(spec));
    };
    const ValueId a = added(".lora_A.weight", {rank * E_, in}, ParamSpec::Init::uniform);
    const ValueId b = added(".lora_B.weight", {out, rank * E_}, ParamSpec::Init::zeros);
    return LowRank{ops::reshape(b_, a, {E_, rank, in}),
                   ops::transpose(b_, ops::reshape(b_, b, {out, rank, E_}), {2, 0, 1}),
                   adapter->scale_of(name)};
  }

  ValueId number(double value) { return ops::constant(b_, value, {DType::f32, {}}); }
  ops::Groups grouped(ValueId chosen, ValueId x) {
    const int64_t rows = b_.type(x).shape[0] * k_;
    return ops::group_rows(b_, ops::reshape(b_, chosen, {rows}), E_, k_);
  }
  // x times [E,in,out], with a bias [E,out].
  ValueId multiplied_with_bias(ValueId x, const char* name, int64_t out,
                               const ops::Groups& groups) {
    const std::string at = fmt::format("{}experts.{}", at_, name);
    ParamSpec spec{at, {E_, b_.type(x).shape[1], out}};
    spec.std = g_.init_std;
    spec.in_out = true;
    const Matrices w = matrices_of(std::move(spec));
    const ValueId bias = g_.weight({at + "_bias", {E_, out}, ParamSpec::Init::zeros, 0, false});
    const ValueId rows = ops::gather_rows(b_, bias, groups.groups);
    const ValueId y = ops::add(b_, multiplied(x, w, groups.starts), rows);
    const auto a = adapter_of(name, b_.type(x).shape[1], out);
    return a ? a->added(b_, y, x, groups.starts) : y;
  }

  // A router is not one of the layers that adapters take.
  ValueId scores(ValueId x) {
    ParamSpec spec{at_ + "gate.weight", {E_, C_}};
    spec.std = g_.init_std;
    if (*style_.other_at != 0) spec.also = {other_at() + "gate.weight"};
    return ops::linear(b_, x, g_.weight(std::move(spec)), {.trans_w = true});
  }
  ValueId shares(ValueId chosen) {
    if (!style_.normalizes) return chosen;
    const ValueId sums = ops::reduce_sum(b_, chosen, {1});
    return ops::div(b_, chosen, ops::broadcast(b_, sums, Shape(b_.type(chosen).shape), {0}));
  }

  std::string other_at() const {
    return at_.substr(0, at_.size() - std::string_view(style_.at).size()) + style_.other_at;
  }
  ParamSpec matrices(const char* name, int64_t out, int64_t in) const {
    ParamSpec spec{fmt::format("{}experts.*.{}.weight", at_, name), {E_, out, in}};
    spec.std = g_.init_std;
    return spec;
  }
  // x [N,C] times both matrices of its expert, [N,F] each.
  std::pair<ValueId, ValueId> gate_and_up(ValueId x, ValueId starts) {
    if (style_.is_merged) {
      const ValueId both = multiplied(x, merged(kGateUp, 2 * F_, C_), starts);
      const ValueId gate = ops::slice(b_, both, 1, 0, F_);
      return {gate, ops::slice(b_, both, 1, F_, 2 * F_)};
    }
    const ValueId gate = multiplied(x, gate_or_up(style_.gate, 0), starts);
    return {gate, multiplied(x, gate_or_up(style_.up, 1), starts)};
  }
  ParamSpec merged(const char* name, int64_t out, int64_t in) const {
    ParamSpec spec{fmt::format("{}experts.{}", at_, name), {E_, out, in}};
    spec.std = g_.init_std;
    return spec;
  }
  ParamSpec gate_or_up(const char* name, int64_t part) const {
    ParamSpec spec = matrices(name, F_, C_);
    spec.merged = {merged_at() + "experts.gate_up_proj", part, 2};
    return spec;
  }
  ParamSpec down() const {
    if (style_.is_merged) return merged(kDown, C_, F_);
    ParamSpec spec = matrices(style_.down, C_, F_);
    spec.merged = {merged_at() + "experts.down_proj", 0, 1};
    return spec;
  }
  std::string merged_at() const { return *style_.other_at != 0 ? other_at() : at_; }
  // The matrices of all experts as a product takes them.
  struct Matrices {
    ValueId w;
    bool trans;
    DType rounded;
  };
  Matrices matrices_of(ParamSpec spec) {
    const DType rounded = g_.quantize(spec, at_ + "experts");
    const bool trans = !spec.in_out || !spec.scheme.empty();
    return {g_.weight(std::move(spec)), trans, rounded};
  }
  // Each row of x times the matrix of its expert.
  ValueId multiplied(ValueId x, const Matrices& m, ValueId starts) {
    return ops::grouped_matmul(b_, x, m.w, starts, m.trans, m.rounded);
  }
  ValueId multiplied(ValueId x, ParamSpec spec, ValueId starts) {
    return multiplied(x, matrices_of(std::move(spec)), starts);
  }

  ModelGraph& g_;
  Builder& b_;
  const ExpertStyle& style_;
  const std::string at_;
  const int64_t C_, E_, k_, F_;
};

}  // namespace

void name_expert_count(ModelConfig& c, const ExpertStyle& style) {
  for (const char* other : kCounts)
    if (c.config.contains(other) && !c.config.contains(style.count)) {
      c.config[style.count] = c.config[other];
      c.config.erase(other);
    }
}

Status check_experts(const ModelConfig& c, const ExpertStyle& style) {
  const int64_t count = HONE_TRY(c.integer(style.count));
  HONE_TRY(check_range(fmt::format("'{}'", style.count), count, 1, kLargestSize));
  HONE_TRY(
      check_range(fmt::format("'{}'", style.chosen), HONE_TRY(c.integer(style.chosen)), 1, count));
  HONE_TRY(check_range(fmt::format("'{}'", style.inner), HONE_TRY(c.integer(style.inner)), 1,
                       kLargestSize));
  if (c.real("router_jitter_noise", 0) != 0)
    return refuse("router_jitter_noise", c.config.at("router_jitter_noise"), "0 works");
  return Ok{};
}

Status check_shared_expert(const ModelConfig& c) {
  return check_range(fmt::format("'{}'", kSharedInner), HONE_TRY(c.integer(kSharedInner)), 1,
                     kLargestSize);
}

bool is_dense_in_qwen(const ModelConfig& c, int64_t layer) {
  if (const auto it = c.config.find("mlp_only_layers"); it != c.config.end() && it->is_array())
    for (const nlohmann::json& one : *it)
      if (one == layer) return true;
  const int64_t step = c.integer("decoder_sparse_step", 1).value();
  return step < 1 || (layer + 1) % step != 0;
}

std::vector<std::string> stacked_parameters(const std::vector<ParamSpec>& params) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const ParamSpec& p : params) {
    if (p.shape.size() != 3 || p.of_adapter()) continue;
    const std::string& name = p.merged.name.empty() ? p.name : p.merged.name;
    if (name.find(".experts.") != name.npos && seen.insert(name).second) names.push_back(name);
  }
  return names;
}

ValueId experts_of(ModelGraph& g, const ExpertStyle& style, const std::string& at, ValueId x,
                   const Routing& routing) {
  return Experts(g, style, at).mix(x, routing);
}

void add_experts(GgufLayout& g, const ExpertStyle& style) {
  g.keys.push_back({"expert_count", style.count});
  g.keys.push_back({"expert_used_count", style.chosen});
  g.keys.push_back({"expert_feed_forward_length", style.inner});
  std::erase_if(g.of_layer, [](const GgufName& n) {
    return n.gguf == "ffn_gate" || n.gguf == "ffn_up" || n.gguf == "ffn_down";
  });
  const std::string at = style.at;
  if (style.is_gpt_oss) {
    g.of_layer.push_back({"ffn_gate_inp", at + "router"});
    for (const char* ending : {"", "_bias"}) {
      const std::string kind = *ending == 0 ? ".weight" : ".bias";
      const std::string both = at + "experts.gate_up_proj" + ending;
      g.parts.push_back({"ffn_gate_exps" + kind, both, 0, 2});
      g.parts.push_back({"ffn_up_exps" + kind, both, 1, 2});
      g.parts.push_back({"ffn_down_exps" + kind, at + "experts.down_proj" + ending});
    }
    return;
  }
  g.of_layer.push_back({"ffn_gate_inp", at + "gate"});
  for (const auto& [name, weight] : {std::pair{"ffn_gate_exps", style.gate},
                                     {"ffn_up_exps", style.up},
                                     {"ffn_down_exps", style.down}})
    g.of_layer.push_back({name, at + "experts.*." + weight});
}

void add_shared_expert(GgufLayout& g, const ExpertStyle& style) {
  const std::string at = style.at;
  g.keys.push_back({"expert_shared_feed_forward_length", kSharedInner});
  for (const auto& [name, weight] : {std::pair{"ffn_gate_inp_shexp", "shared_expert_gate"},
                                     {"ffn_gate_shexp", "shared_expert.gate_proj"},
                                     {"ffn_up_shexp", "shared_expert.up_proj"},
                                     {"ffn_down_shexp", "shared_expert.down_proj"}})
    g.of_layer.push_back({name, at + weight});
  g.left_out.push_back({".shared_expert_gate.weight", 0});
}

ValueId experts(ModelGraph& g, const ExpertStyle& style, const std::string& h, ValueId x) {
  Experts layer(g, style, h + style.at);
  const ValueId y = layer.mix(x);
  return style.shared_inner > 0 ? ops::add(g.b, y, layer.shared(x)) : y;
}

}  // namespace hone
