#include "learn/models/family.h"

#include "learn/models/errors.h"

namespace hone {

std::vector<Family> all_family();  // generated from the files of this folder

const std::vector<Family>& families() {
  static const std::vector<Family> shelf = all_family();
  return shelf;
}

Result<int64_t> ModelConfig::integer(const std::string& key,
                                     std::optional<int64_t> otherwise) const {
  auto it = config.find(key);
  if (it == config.end() || it->is_null()) {
    if (otherwise) return *otherwise;
    return Error(err::kBadConfig, fmt::format("config.json has no '{}'", key));
  }
  if (!it->is_number_integer())
    return Error(err::kBadConfig, fmt::format("config.json: '{}' is {}, a whole number is expected",
                                              key, it->dump()));
  int64_t v = it->get<int64_t>();
  if (v < 0 || v > (int64_t{1} << 40))
    return Error(err::kBadConfig,
                 fmt::format("config.json: '{}' is {}, which is out of range", key, v));
  return v;
}
double ModelConfig::real(const std::string& key, double otherwise) const {
  auto it = config.find(key);
  return it != config.end() && it->is_number() ? it->get<double>() : otherwise;
}
bool ModelConfig::flag(const std::string& key, bool otherwise) const {
  auto it = config.find(key);
  return it != config.end() && it->is_boolean() ? it->get<bool>() : otherwise;
}
std::string ModelConfig::text(const std::string& key, const std::string& otherwise) const {
  auto it = config.find(key);
  return it != config.end() && it->is_string() ? it->get<std::string>() : otherwise;
}

namespace {

constexpr int64_t kLargestSize = int64_t{1} << 24;

// Keys that several families have and that a family may leave out.
Status check_numbers(const ModelConfig& c) {
  for (const char* key : {"n_inner", "intermediate_size"})
    if (int64_t v = HONE_TRY(c.integer(key, 1)); v < 1 || v > kLargestSize)
      return Error(err::kBadConfig,
                   fmt::format("config.json: '{}' is {}, which is out of range", key, v));
  for (const char* key :
       {"layer_norm_epsilon", "rms_norm_eps", "initializer_range", "rope_theta"}) {
    auto it = c.config.find(key);
    if (it == c.config.end() || it->is_null()) continue;
    const bool positive = it->is_number() && it->get<double>() > 0;
    if (!positive && !(key == std::string_view("initializer_range") && *it == 0))
      return Error(
          err::kBadConfig,
          fmt::format("config.json: '{}' is {}, a positive number is expected", key, it->dump()));
  }
  return Ok{};
}

bool classifies(Head h) {
  return h == Head::sequence_classification || h == Head::token_classification;
}

// Whether a class of Transformers, "MistralForCausalLM", has the head.
bool class_has_head(const std::string& name, Head h) {
  static const std::map<Head, std::vector<const char*>> kEndings{
      {Head::causal_lm, {"ForCausalLM", "LMHeadModel"}},
      {Head::masked_lm, {"ForMaskedLM"}},
      {Head::sequence_classification, {"ForSequenceClassification"}},
      {Head::token_classification, {"ForTokenClassification"}},
      {Head::seq2seq_lm, {"ForConditionalGeneration", "MTModel"}},
      {Head::none, {"Model"}}};
  if (h == Head::none &&
      (class_has_head(name, Head::causal_lm) || class_has_head(name, Head::seq2seq_lm)))
    return false;
  const auto& endings = kEndings.at(h);
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* e) { return name.ends_with(e); });
}

// The class that config.json names; "" when it names none.
std::string named_class(const ModelConfig& c) {
  auto it = c.config.find("architectures");
  const bool named = it != c.config.end() && it->is_array() && !it->empty() && (*it)[0].is_string();
  return named ? (*it)[0].get<std::string>() : std::string();
}

Head head_of_config(const ModelConfig& c, const Family& f) {
  const std::string named = named_class(c);
  for (const HeadOffer& offer : f.heads)
    if (class_has_head(named, offer.head)) return offer.head;
  return f.heads.front().head;
}

}  // namespace

std::string name_of(Head h) {
  switch (h) {
    case Head::causal_lm:
      return "causal_lm";
    case Head::masked_lm:
      return "masked_lm";
    case Head::sequence_classification:
      return "sequence_classification";
    case Head::token_classification:
      return "token_classification";
    case Head::seq2seq_lm:
      return "seq2seq_lm";
    case Head::none:
      return "none";
  }
  __builtin_unreachable();
}

Result<ModelConfig> read_model_config(const nlohmann::json& config) {
  if (!config.is_object()) return Error(err::kBadConfig, "config.json is not a JSON object");
  ModelConfig c;
  c.config = config;
  std::string type = c.text("model_type", "");
  std::vector<std::string> known;
  for (const Family& f : families()) {
    for (const std::string& t : f.model_types) {
      // For an encoder-decoder the names of others help.
      if (f.encoder || !c.flag("is_encoder_decoder", false)) known.push_back(t);
      if (t != type) continue;
      c.family = f.name;
      HONE_TRY(check_numbers(c));
      HONE_TRY(f.read_config(c));
      for (auto [key, v] : {std::pair{"vocabulary", c.vocab},
                            {"hidden size", c.hidden},
                            {"number of layers", c.layers},
                            {"number of heads", c.heads},
                            {"number of key/value heads", c.kv_heads},
                            {"head size", c.head_dim},
                            {"number of positions", c.max_positions}})
        if (v < 1 || v > kLargestSize)
          return Error(err::kBadConfig,
                       fmt::format("config.json: the {} is {}, which is out of range", key, v));
      if (c.heads % c.kv_heads != 0)
        return Error(err::kBadConfig,
                     fmt::format("config.json: {} heads cannot share {} key/value heads evenly",
                                 c.heads, c.kv_heads));
      c.head = head_of_config(c, f);
      if (classifies(c.head)) c.labels = config_labels(c);
      return c;
    }
  }
  std::sort(known.begin(), known.end());
  std::string near = nearest_name(type, known);
  return Error(err::kUnknownFamily, type.empty()
                                        ? std::string("config.json names no model_type")
                                        : fmt::format("hone has no model family '{}'", type))
      .todo(fmt::format("{}model types that work: {}",
                        near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
                        fmt::join(known, ", ")));
}

const Family& family_of(const ModelConfig& c) {
  for (const Family& f : families())
    if (f.name == c.family) return f;
  HONE_BUG_IF(true, "family '{}' is not on the shelf", c.family);
  __builtin_unreachable();
}

Status set_head(ModelConfig& c, Head head, int64_t labels) {
  const Family& f = family_of(c);
  std::vector<std::string> offered;
  for (const HeadOffer& offer : f.heads) offered.push_back(name_of(offer.head));
  if (std::find(offered.begin(), offered.end(), name_of(head)) == offered.end())
    return Error(err::kHeadNotOffered,
                 fmt::format("models of the family {} have no head '{}'", f.name, name_of(head)))
        .todo(fmt::format("heads of {}: {}", f.name, fmt::join(offered, ", ")));
  HONE_BUG_IF(classifies(head) != (labels > 0), "head {} with {} labels", name_of(head), labels);
  c.head = head;
  c.labels = labels;
  return Ok{};
}

std::string architecture_of(const ModelConfig& c) {
  if (const std::string named = named_class(c); class_has_head(named, c.head)) return named;
  // Families of several model types offer the class of one: "BartForConditionalGeneration".
  static const std::map<std::string, const char*> kPrefixes{{"mbart", "MBart"},
                                                            {"pegasus", "Pegasus"},
                                                            {"mt5", "MT5"},
                                                            {"mistral", "Mistral"},
                                                            {"qwen2", "Qwen2"}};
  for (const HeadOffer& offer : family_of(c).heads) {
    if (offer.head != c.head) continue;
    const std::string name = offer.architecture;
    const auto prefix = kPrefixes.find(c.text("model_type", ""));
    return prefix == kPrefixes.end() ? name : prefix->second + name.substr(name.find("For"));
  }
  HONE_BUG_IF(true, "family {} has no head {}", c.family, name_of(c.head));
  __builtin_unreachable();
}

int64_t config_labels(const ModelConfig& c) {
  if (auto it = c.config.find("id2label"); it != c.config.end() && it->is_object() && !it->empty())
    return static_cast<int64_t>(it->size());
  if (auto it = c.config.find("num_labels");
      it != c.config.end() && it->is_number_integer() && it->get<int64_t>() > 0)
    return it->get<int64_t>();
  return 2;
}

int64_t parameter_count(const ModelConfig& c) {
  int64_t n = 0;
  for (const ParamSpec& p : family_of(c).params(c)) n += Type{DType::f32, p.shape}.count();
  return n;
}

std::string cache_name(int64_t layer, char which) {
  return fmt::format("cache.{}.{}", layer, which);
}
std::string cross_name(int64_t layer, char which) {
  return fmt::format("cross.{}.{}", layer, which);
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

ValueId ModelGraph::param(const std::string& name) {
  auto it = params_.find(name);
  HONE_BUG_IF(it == params_.end(), "family {} has no weight '{}'", config.family, name);
  return it->second;
}

ValueId ModelGraph::dropout(ValueId x, double p, ValueId residual) {
  if (mode != Mode::train || p == 0) return residual == kNoValue ? x : ops::add(b, x, residual);
  ValueId y = ops::dropout(b, x, rng, sample_ids, positions, p, b.scope());
  return residual == kNoValue ? y : ops::add(b, y, residual);
}

ValueId ModelGraph::first_rows() {
  const int64_t slots = b.type(cu_seqlens).shape[0] - 1;
  ValueId begin = ops::slice(b, cu_seqlens, 0, 0, slots);
  ValueId end = ops::slice(b, cu_seqlens, 0, 1, slots + 1);
  return ops::select(b, ops::compare(b, begin, end, "lt"), begin,
                     ops::constant(b, -1, {DType::i32, {slots}}));
}

ValueId ModelGraph::first_tokens(ValueId x) { return ops::gather_rows(b, x, first_rows()); }

ValueId ModelGraph::dropout_of_sequences(ValueId x, double p) {
  if (mode != Mode::train || p == 0) return x;
  const Type places{DType::i32, {b.type(x).shape[0]}};
  return ops::dropout(b, x, rng, ops::gather_rows(b, sample_ids, first_rows()),
                      ops::constant(b, 0, places), p, b.scope());
}

ValueId ModelGraph::self_attention(int64_t layer, ValueId q, ValueId k, ValueId v, double scale,
                                   double dropout_p, int64_t window, bool causal, ValueId bias) {
  HONE_BUG_IF(mode == Mode::cached && !causal, "attention that is not causal has no cache");
  ops::AttentionOptions o{.heads = in_encoder_ ? config.encoder_heads : config.heads,
                          .kv_heads = in_encoder_ ? config.encoder_heads : config.kv_heads,
                          .window = window,
                          .causal = causal,
                          .scale = scale,
                          .dropout = 0,
                          .key = ""};
  ops::AttentionInputs in{.q = q, .k = k, .v = v, .cu_q = cu_seqlens, .cu_k = cu_seqlens};
  in.bias = bias;
  if (mode == Mode::train && dropout_p > 0) {
    o.dropout = dropout_p;
    o.key = b.scope();
    in.rng = rng;
    in.sample_ids = sample_ids;
  }
  if (mode == Mode::cached) {
    const int64_t width = config.kv_heads * config.head_dim,
                  queries = config.heads * config.head_dim;
    if (k == kNoValue) {
      in.q = ops::slice(b, q, 1, 0, queries);
      in.k = ops::slice(b, q, 1, queries, queries + width);
      in.v = ops::slice(b, q, 1, queries + width, queries + 2 * width);
    }
    for (auto [which, value] : {std::pair{'k', &in.k}, {'v', &in.v}}) {
      ValueId old_version = cache_state(cache_name(layer, which), cache_pages);
      ValueId next = ops::cache_write(b, old_version, *value, slots);
      b.program().state_of(old_version)->next = next;
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

ValueId ModelGraph::cache_state(const std::string& name, int64_t pages) {
  State s;
  s.name = name;
  s.role = Role::cache;
  return b.program().add_state(
      std::move(s), {DType::f32, {pages, cache_page, config.kv_heads * config.head_dim}});
}

void ModelGraph::encode() {
  auto change_sides = [&] {
    std::swap(ids, encoder_ids);
    std::swap(positions, encoder_positions);
    std::swap(cu_seqlens, encoder_cu_seqlens);
    std::swap(sample_ids, encoder_sample_ids);
    in_encoder_ = !in_encoder_;
  };
  change_sides();
  encoded = family_of(config).encoder(*this);
  change_sides();
}

ValueId ModelGraph::cross_attention(int64_t layer, ValueId q, double scale, double dropout_p) {
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
    in.k = cache_state(cross_name(layer, 'k'), cross_pages);
    in.v = cache_state(cross_name(layer, 'v'), cross_pages);
    in.cu_k = cu_cross;
    in.block_table = cross_table;
  } else {
    const CrossKeys keys = family_of(config).cross_keys(*this, layer);
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

void ModelGraph::cache_cross_keys() {
  for (int64_t i = 0; i < config.layers; ++i) {
    const CrossKeys keys = family_of(config).cross_keys(*this, i);
    for (auto [which, value] : {std::pair{'k', keys.k}, {'v', keys.v}}) {
      ValueId old_version = cache_state(cross_name(i, which), cross_pages);
      b.program().state_of(old_version)->next =
          ops::cache_write(b, old_version, value, cross_slots);
    }
  }
}

ValueId ModelGraph::embed(ValueId table) {
  Attrs attrs;
  if (mode == Mode::train && config.padding_token >= 0)
    attrs.set("padding_row", config.padding_token);
  return b.emit1("embedding", {table, ids}, attrs);
}

void add_model_states(ModelGraph& g, bool trainable) {
  const Family& f = family_of(g.config);
  Program& p = g.b.program();
  for (const ParamSpec& spec : f.params(g.config)) {
    State s;
    s.name = spec.name;
    s.role = Role::param;
    s.trainable = trainable && spec.trained;
    g.bind_param(spec.name, p.add_state(std::move(s), {DType::f32, spec.shape}));
  }
  if (!f.constants) return;
  for (const ConstantTable& t : f.constants(g.config)) {
    State s;
    s.name = t.name;
    s.role = Role::constant;
    g.bind_param(t.name, p.add_state(std::move(s), {DType::f32, t.shape}));
  }
}

HeadLayer model_head(ModelGraph& g) {
  const Family& f = family_of(g.config);
  HONE_BUG_IF(g.config.head == Head::none, "a model without a head gives hidden states alone");
  if (f.encoder) g.encode();
  ValueId hidden = f.body(g);
  if (g.label_rows != kNoValue) hidden = ops::gather_rows(g.b, hidden, g.label_rows);
  Builder::Scope head(g.b, "head");
  return f.head(g, hidden);
}

ValueId logits_of(Builder& b, const HeadLayer& head) {
  return ops::linear(b, head.x, head.weight, {.bias = head.bias, .trans_w = true});
}

}  // namespace hone
