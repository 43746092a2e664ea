#include "learn/models/graph.h"

#include "engine/ops/block_schemes.h"

namespace hone {

std::string cache_name(int64_t layer, char which) {
  return fmt::format("cache.{}.{}", layer, which);
}
std::string cross_name(int64_t layer, char which) {
  return fmt::format("cross.{}.{}", layer, which);
}
std::string carried_name(int64_t layer, const std::string& which) {
  return fmt::format("{}{}.{}", kCarriedState, layer, which);
}

std::vector<float> sinusoids(int64_t rows, int64_t width) {
  std::vector<float> table;
  table.reserve(static_cast<size_t>(rows * width));
  const int64_t sines = (width + 1) / 2;
  for (int64_t p = 0; p < rows; ++p)
    for (int64_t j = 0; j < width; ++j) {
      const auto i = static_cast<double>(j < sines ? j : j - sines);
      const double angle =
          static_cast<double>(p) / std::pow(10000.0, 2 * i / static_cast<double>(width));
      table.push_back(static_cast<float>(j < sines ? std::sin(angle) : std::cos(angle)));
    }
  return table;
}

void ModelGraph::add_state(const std::string& name, Role role, bool trainable, const Type& type) {
  State s;
  s.name = name;
  s.role = role;
  s.trainable = trainable;
  params_[name] = b.program().add_state(std::move(s), type);
}

void ModelGraph::bind(const DeclaredWeights& weights, bool trainable) {
  for (const ParamSpec& spec : weights.params)
    for (const KeptState& kept : kept_states(spec))
      add_state(kept.name, Role::param, trainable && spec.is_trained(), kept.type);
  for (const ConstantSpec& spec : weights.constants)
    add_state(spec.name, Role::constant, false, {DType::f32, spec.shape});
}

ValueId ModelGraph::param(const std::string& name) const {
  auto it = params_.find(name);
  HONE_BUG_IF(it == params_.end(), "family {} has no weight '{}'", config.family, name);
  return it->second;
}

ValueId ModelGraph::weight(ParamSpec spec) {
  if (config.adapter && spec.part == ParamSpec::Part::whole) {
    spec.part = ParamSpec::Part::frozen;
    const bool trained = config.adapter->saves(config, spec.name);
    if (trained || config.adapter->keeps(spec.name)) {
      spec.trained = spec.trained && trained;
      spec.part = ParamSpec::Part::saved;
      spec.also.insert(spec.also.begin(), spec.name);
      spec.name = kAdapterPrefix + spec.name;
    }
  }
  if (declaring() && !params_.contains(spec.name)) {
    for (const KeptState& kept : kept_states(spec))
      add_state(kept.name, Role::param, false, kept.type);
    spec.of_head = spec.of_head || of_head;
    spec.depth = depth;
    declared_->params.push_back(spec);
  }
  const ValueId v = param(spec.name);
  const KeptState kept = kept_states(spec).front();
  HONE_BUG_IF(b.type(v) != kept.type, "the weight '{}' is {} here and {} there", spec.name,
              kept.type.text(), b.type(v).text());
  if (spec.scheme.empty()) return v;
  const auto beside = [&](const char* name) {
    const auto it = params_.find(spec.name + name);
    return it == params_.end() ? kNoValue : it->second;
  };
  const ValueId wide = ops::dequantize(
      b, {spec.scheme, v, beside(kScales), beside(kNestedScales), beside(kScaleOffset)});
  if (spec.shape.size() != 3) return wide;
  const Shape matrix = block_shape(spec);
  return ops::reshape(b, wide, {spec.shape[0], matrix[0] / spec.shape[0], matrix[1]});
}

DType ModelGraph::quantize(ParamSpec& spec, const std::string& at) {
  const Quantization* q = config.quantization.get();
  if (q == nullptr) return DType::f32;
  const std::string stacked = spec.shape.size() == 3 ? spec.name : "";
  spec.scheme = q->scheme_of(config, at, block_shape(spec)[1], stacked);
  if (spec.scheme.empty()) return DType::f32;
  spec.nested = q->nested && block_scheme(spec.scheme)->scaled > 0;
  return q->bf16 ? DType::bf16 : DType::f32;
}

std::string ModelGraph::scheme_in_file(const std::string& name, int64_t columns) const {
  constexpr std::string_view kEnding = ".weight";
  const Quantization* q = config.quantization.get();
  if (q == nullptr || q->of_file.empty() || !name.ends_with(kEnding)) return "";
  return q->scheme_of(config, name.substr(0, name.size() - kEnding.size()), columns);
}

ValueId ModelGraph::table(const std::string& name, int64_t rows, int64_t channels, TableOptions o) {
  ParamSpec spec{name, {rows, channels}};
  spec.std = o.std < 0 ? init_std : o.std;
  spec.zero_row = o.zero_row;
  spec.decay = o.decay;
  spec.looked_up = true;
  spec.also = std::move(o.also);
  spec.scheme = scheme_in_file(name, channels);
  return weight(std::move(spec));
}

ValueId ModelGraph::matrix(const std::string& name, int64_t rows, int64_t columns, double std) {
  ParamSpec spec{name, {rows, columns}};
  spec.std = std < 0 ? init_std : std;
  spec.scheme = scheme_in_file(name, columns);
  return weight(std::move(spec));
}

ValueId ModelGraph::zeros(const std::string& name, int64_t n, std::vector<std::string> also) {
  ParamSpec spec{name, {n}, ParamSpec::Init::zeros, 0, false};
  spec.also = std::move(also);
  return weight(std::move(spec));
}

ValueId ModelGraph::constant(ConstantSpec spec) {
  if (declaring() && !params_.contains(spec.name)) {
    add_state(spec.name, Role::constant, false, {DType::f32, spec.shape});
    declared_->constants.push_back(spec);
  }
  return param(spec.name);
}

ValueId ModelGraph::linear(const std::string& at, ValueId x, int64_t out, const LinearLayer& o) {
  const int64_t in = b.type(x).shape.back();
  ParamSpec spec{at + o.joint + "weight", o.in_out ? Shape{in, out} : Shape{out, in}};
  spec.std = o.std < 0 ? init_std : o.std;
  spec.in_out = o.in_out;
  LinearLayer how = o;
  const DType rounded = quantize(spec, at);
  if (!spec.scheme.empty()) how.in_out = false;  // kept as [out,in]
  const ValueId w = weight(std::move(spec));
  const ValueId bias = o.bias ? zeros(at + o.joint + "bias", out) : kNoValue;
  if (config.adapter && config.adapter->adapts(config, at))
    return adapted(at, x, w, bias, how, rounded);
  return ops::linear(b, x, w, {.bias = bias, .trans_w = !how.in_out, .rounded = rounded});
}

ValueId ModelGraph::adapter_dropout(const std::string& at, ValueId x, LinearLayer::Rows rows) {
  const double p = config.adapter->dropout;
  if (mode != Mode::train || p == 0) return x;
  ValueId samples = sample_ids, places = positions;
  if (x == encoded) {
    samples = encoder_sample_ids;
    places = encoder_positions;
  } else if (rows == LinearLayer::Rows::sequences) {
    samples = ops::gather_rows(b, sample_ids, first_rows());
    places = ops::constant(b, 0, {DType::i32, {b.type(x).shape[0]}});
  } else if (rows == LinearLayer::Rows::table) {
    const int64_t count = b.type(x).shape[0];
    samples = ops::constant(b, 0, {DType::i64, {count}});
    places = ops::iota(b, {DType::i32, {count}}, 0);
  } else if (rows == LinearLayer::Rows::labels && label_rows != kNoValue) {
    samples = ops::gather_rows(b, sample_ids, label_rows);
    places = ops::gather_rows(b, positions, label_rows);
  }
  return ops::dropout(b, x, rng, samples, places, p, at + ".lora_dropout");
}

ValueId ModelGraph::adapted(const std::string& at, ValueId x, ValueId w, ValueId bias,
                            const LinearLayer& o, DType rounded) {
  const Adapter& adapter = *config.adapter;
  const std::string name = kAdapterPrefix + at;
  const int64_t in = b.type(x).shape.back(), out = b.type(w).shape[o.in_out ? 1 : 0];
  const auto added = [&](const char* which, Shape shape, ParamSpec::Init init) {
    ParamSpec spec{name + which, std::move(shape), init};
    spec.std = 1 / std::sqrt(static_cast<double>(in));  // torch's kaiming_uniform_ with a = sqrt(5)
    spec.part = ParamSpec::Part::added;
    return weight(std::move(spec));
  };
  const int64_t rank = adapter.rank_of(at);
  const double scale = adapter.scale_of(at);
  const ValueId first = added(".lora_A.weight", {rank, in}, ParamSpec::Init::uniform);
  const ValueId second = added(".lora_B.weight", {out, rank}, ParamSpec::Init::zeros);
  const ValueId dropped = adapter_dropout(at, x, o.rows);
  ValueId low = ops::linear(b, dropped, first, {.trans_w = true});  // [T,r]
  if (scale != 1) low = ops::mul(b, low, ops::constant(b, scale, {DType::f32, {}}));
  const ValueId up = ops::linear(b, low, second, {.trans_w = true});  // [T,out]
  const bool apart = dropped != x;
  const ops::LinearOptions how{
      .bias = adapter.dora && !apart ? kNoValue : bias, .trans_w = !o.in_out, .rounded = rounded};
  const ValueId y = ops::linear(b, x, w, how);
  if (!adapter.dora) return ops::add(b, up, y);

  // PEFT adds (m / n - 1) W x + (m / n) scale B A x, n the lengths, to what the layer gives.
  const ValueId lengths = added(".lora_magnitude_vector", {out}, ParamSpec::Init::ones);
  Attrs attrs{{"scale", scale}};
  if (o.in_out) attrs.set("in_out", true);
  const ValueId share = ops::div(b, lengths, b.emit1("row_norms", {w, first, second}, attrs));
  const auto by_column = [&](ValueId v) { return ops::broadcast(b, v, b.type(up).shape, {1}); };
  if (!apart) {
    const ValueId turned = ops::mul(b, ops::add(b, up, y), by_column(share));
    return bias == kNoValue ? turned : ops::add(b, turned, by_column(bias));
  }
  const ValueId less_one = ops::sub(b, share, ops::constant(b, 1, {DType::f32, {}}));
  const ValueId again =
      ops::mul(b, ops::linear(b, dropped, w, {.trans_w = !o.in_out, .rounded = rounded}),
               by_column(less_one));
  return ops::add(b, ops::add(b, again, ops::mul(b, up, by_column(share))), y);
}

ValueId ModelGraph::layer_norm(const std::string& at, ValueId x, double eps,
                               std::pair<std::vector<std::string>, std::vector<std::string>> also) {
  const int64_t channels = b.type(x).shape.back();
  ParamSpec spec{at + ".weight", {channels}, ParamSpec::Init::ones, 0, false};
  spec.also = std::move(also.first);
  const ValueId gamma = weight(std::move(spec));
  const ValueId beta = zeros(at + ".bias", channels, std::move(also.second));
  return ops::layer_norm(b, x, gamma, beta, eps).y;
}

ValueId ModelGraph::rms_norm(const std::string& at, ValueId x, double eps, double ones) {
  ParamSpec spec{at + ".weight", {b.type(x).shape.back()}, ParamSpec::Init::ones, 0, false};
  spec.ones = ones;
  return ops::rms_norm(b, x, weight(std::move(spec)), eps).y;
}

ValueId ModelGraph::dropout(ValueId x, double p, ValueId residual) {
  if (mode != Mode::train || p == 0) return residual == kNoValue ? x : ops::add(b, x, residual);
  ValueId y = ops::dropout(b, x, rng, sample_ids, positions, p, b.scope());
  return residual == kNoValue ? y : ops::add(b, y, residual);
}

ValueId ModelGraph::dropout_of_table(ValueId x, double p) {
  if (mode != Mode::train || p == 0) return x;
  const int64_t count = b.type(x).shape[0];
  return ops::dropout(b, x, rng, ops::constant(b, 0, {DType::i64, {count}}),
                      ops::iota(b, {DType::i32, {count}}, 0), p, b.scope());
}

ValueId ModelGraph::filled_rows(bool last) {
  const int64_t slots = b.type(cu_seqlens).shape[0] - 1;
  ValueId begin = ops::slice(b, cu_seqlens, 0, 0, slots);
  ValueId end = ops::slice(b, cu_seqlens, 0, 1, slots + 1);
  ValueId row = begin;
  if (last) row = ops::sub(b, end, ops::constant(b, 1, {DType::i32, {}}));
  return ops::select(b, ops::compare(b, begin, end, "lt"), row,
                     ops::constant(b, -1, {DType::i32, {slots}}));
}

ValueId ModelGraph::first_rows() { return filled_rows(false); }

ValueId ModelGraph::first_tokens(ValueId x) { return ops::gather_rows(b, x, first_rows()); }

ValueId ModelGraph::last_tokens(ValueId x) { return ops::gather_rows(b, x, filled_rows(true)); }

ValueId ModelGraph::dropout_of_sequences(ValueId x, double p) {
  if (mode != Mode::train || p == 0) return x;
  const Type places{DType::i32, {b.type(x).shape[0]}};
  return ops::dropout(b, x, rng, ops::gather_rows(b, sample_ids, first_rows()),
                      ops::constant(b, 0, places), p, b.scope());
}

ValueId ModelGraph::self_attention(int64_t layer, ValueId q, ValueId k, ValueId v, double scale,
                                   double dropout_p, int64_t window, bool causal, ValueId bias,
                                   double softcap, ValueId sinks, LayerHeads heads) {
  HONE_BUG_IF(mode == Mode::cached && !causal, "attention that is not causal has no cache");
  const int64_t kv_heads = heads.kv_heads > 0 ? heads.kv_heads : config.kv_heads,
                head_dim = heads.head_dim > 0 ? heads.head_dim : config.head_dim;
  ops::AttentionOptions o{.heads = in_encoder_ ? config.encoder_heads : config.heads,
                          .kv_heads = in_encoder_ ? config.encoder_heads : kv_heads,
                          .window = window,
                          .causal = causal,
                          .scale = scale,
                          .dropout = 0,
                          .key = "",
                          .softcap = softcap};
  ops::AttentionInputs in{.q = q, .k = k, .v = v, .cu_q = cu_seqlens, .cu_k = cu_seqlens};
  in.bias = bias;
  in.sinks = sinks;
  if (mode == Mode::train && dropout_p > 0) {
    o.dropout = dropout_p;
    o.key = b.scope();
    in.rng = rng;
    in.sample_ids = sample_ids;
  }
  if (mode == Mode::cached) {
    const int64_t width = kv_heads * head_dim, queries = config.heads * head_dim;
    if (k == kNoValue) {
      in.q = ops::slice(b, q, 1, 0, queries);
      in.k = ops::slice(b, q, 1, queries, queries + width);
      in.v = ops::slice(b, q, 1, queries + width, queries + 2 * width);
    }
    for (auto [which, value] : {std::pair{'k', &in.k}, {'v', &in.v}}) {
      const std::string name = cache_name(heads.keys_of < 0 ? layer : heads.keys_of, which);
      ValueId& next = cached_[name];
      if (heads.keys_of < 0) {
        ValueId old_version = cache_state(name, cache_pages, width);
        next = ops::cache_write(b, old_version, *value, slots);
        b.program().state_of(old_version)->next = next;
      }
      *value = next;
    }
    in.cu_k = cu_cache;
    in.block_table = block_table;
  }
  return ops::attention(b, in, o).out;
}

int64_t ModelGraph::longest() const {
  if (mode == Mode::cached) return b.type(block_table).shape[1] * cache_page;
  return b.type(ids).shape[0];
}

ValueId ModelGraph::cache_state(const std::string& name, int64_t pages, int64_t width) {
  State s;
  s.name = name;
  s.role = Role::cache;
  return b.program().add_state(std::move(s), {DType::f32, {pages, cache_page, width}});
}

ValueId ModelGraph::carried(int64_t layer, const std::string& which, int64_t width) {
  State s;
  s.name = carried_name(layer, which);
  s.role = Role::cache;
  const ValueId all = b.program().add_state(std::move(s), {DType::f32, {state_rows, 1, width}});
  return ops::gather_rows(b, ops::reshape(b, all, {state_rows, width}), state_from);
}

void ModelGraph::carry(int64_t layer, const std::string& which, ValueId after) {
  const std::string name = carried_name(layer, which);
  const ValueId all = b.program().state_named(name)->value;
  const ValueId next = ops::cache_write(b, all, after, state_to);
  b.program().state_named(name)->next = next;
}

ValueId ModelGraph::causal_conv(int64_t layer, const std::string& at, ValueId x, int64_t taps,
                                bool bias) {
  const int64_t channels = b.type(x).shape[1];
  ParamSpec spec{at + ".weight", {channels, 1, taps}};
  spec.std = init_std;
  const ValueId w = ops::reshape(b, weight(std::move(spec)), {channels, taps});
  const ValueId of_bias = bias ? zeros(at + ".bias", channels) : kNoValue;
  if (mode != Mode::cached || taps == 1) return ops::causal_conv1d(b, x, w, of_bias, cu_seqlens).y;
  const ValueId before = carried(layer, "conv", (taps - 1) * channels);
  const ops::CausalConv conv = ops::causal_conv1d(b, x, w, of_bias, cu_seqlens, before);
  carry(layer, "conv", conv.state);
  return conv.y;
}

void ModelGraph::encode(ValueId (*encoder)(ModelGraph&)) {
  auto change_sides = [&] {
    std::swap(ids, encoder_ids);
    std::swap(positions, encoder_positions);
    std::swap(cu_seqlens, encoder_cu_seqlens);
    std::swap(sample_ids, encoder_sample_ids);
    in_encoder_ = !in_encoder_;
  };
  change_sides();
  encoded = encoder(*this);
  change_sides();
}

ValueId ModelGraph::cross_attention(int64_t layer, ValueId q, double scale, double dropout_p,
                                    CrossKeys (*keys_of)(ModelGraph&, int64_t layer)) {
  ops::AttentionOptions o{.heads = config.heads,
                          .kv_heads = config.kv_heads,
                          .window = 0,
                          .causal = false,
                          .scale = scale,
                          .dropout = 0,
                          .key = ""};
  ops::AttentionInputs in{.q = q, .cu_q = cu_seqlens, .cu_k = encoder_cu_seqlens};
  if (mode == Mode::cached) {
    // Its ends aligned with those of the keys, the one query of a sequence sees all of them.
    o.causal = true;
    const int64_t width = config.kv_heads * config.head_dim;
    in.k = cache_state(cross_name(layer, 'k'), cross_pages, width);
    in.v = cache_state(cross_name(layer, 'v'), cross_pages, width);
    in.cu_k = cu_cross;
    in.block_table = cross_table;
  } else {
    const CrossKeys keys = keys_of(*this, layer);
    in.k = keys.k;
    in.v = keys.v;
  }
  if (mode == Mode::train && dropout_p > 0) {
    o.dropout = dropout_p;
    o.key = b.scope();
    in.rng = rng;
    in.sample_ids = sample_ids;
  }
  return ops::attention(b, in, o).out;
}

void ModelGraph::cache_cross_keys(CrossKeys (*keys_of)(ModelGraph&, int64_t layer)) {
  for (int64_t i = 0; i < config.layers; ++i) {
    const CrossKeys keys = keys_of(*this, i);
    for (auto [which, value] : {std::pair{'k', keys.k}, {'v', keys.v}}) {
      ValueId old_version =
          cache_state(cross_name(i, which), cross_pages, config.kv_heads * config.head_dim);
      b.program().state_of(old_version)->next =
          ops::cache_write(b, old_version, value, cross_slots);
    }
  }
}

ValueId ModelGraph::embed(ValueId table) {
  Attrs attrs;
  if (mode == Mode::train && config.padding_token >= 0)
    attrs.set("padding_row", config.padding_token);
  return with_noise(b.emit1("embedding", {table, ids}, attrs));
}

ValueId ModelGraph::with_noise(ValueId x) {
  if (mode != Mode::train || declaring() || config.neftune_alpha == 0) return x;
  Builder::Scope scope(b, "noise");
  const Type type = b.type(x);
  const auto number = [&](double v) { return ops::constant(b, v, {DType::f32, {}}); };
  // A fair coin for each binary digit of a number from 0 to 1, the last digit first.
  constexpr int kDigits = 16;
  ValueId sum = kNoValue;
  for (int i = 0; i < kDigits; ++i) {
    const ValueId coin =
        ops::cast(b,
                  ops::dropout_mask(b, rng, sample_ids, positions, 0.5, type.shape[1],
                                    fmt::format("{}.{}", b.scope(), i)),
                  DType::f32);
    sum = ops::mul(b, sum == kNoValue ? coin : ops::add(b, sum, coin), number(0.5));
  }
  const double half_digit = std::exp2(-kDigits - 1);
  const ValueId even = ops::mul(b, ops::add(b, sum, number(half_digit - 0.5)), number(2));
  const ValueId most =
      ops::div(b, number(config.neftune_alpha / std::sqrt(static_cast<double>(type.shape[1]))),
               ops::sqrt(b, row_lengths));
  const ValueId noise = ops::mul(b, even, ops::broadcast(b, most, type.shape, {0}));
  return ops::add(b, x, ops::cast(b, noise, type.dtype));
}

ValueId logits_of(Builder& b, const HeadLayer& head) {
  const ValueId logits = ops::linear(b, head.x, head.weight, {.bias = head.bias, .trans_w = true});
  if (head.softcap == 0) return logits;
  const ValueId cap = ops::constant(b, head.softcap, {DType::f32, {}});
  return ops::mul(b, ops::tanh(b, ops::div(b, logits, cap)), cap);
}

ops::CrossEntropy cross_entropy_of(Builder& b, const HeadLayer& head, ValueId labels, ValueId scale,
                                   bool train, double label_smoothing) {
  return ops::linear_cross_entropy(b, head.x, head.weight, labels, scale, train, label_smoothing,
                                   head.bias, head.softcap);
}

}  // namespace hone
