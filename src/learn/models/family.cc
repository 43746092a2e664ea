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
  if (!config.is_object()) return Error(err::kBadConfig, "config.json is no JSON object");
  ModelConfig c;
  c.config = config;
  std::string type = c.text("model_type", "");
  std::vector<std::string> known;
  for (const Family& f : families()) {
    for (const std::string& t : f.model_types) {
      known.push_back(t);
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
  for (const HeadOffer& offer : family_of(c).heads)
    if (offer.head == c.head) return offer.architecture;
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
                                   double dropout_p, int64_t window, bool causal) {
  HONE_BUG_IF(mode == Mode::cached && !causal, "attention that is not causal has no cache");
  ops::AttentionOptions o{.heads = config.heads,
                          .kv_heads = config.kv_heads,
                          .window = window,
                          .causal = causal,
                          .scale = scale,
                          .dropout = 0,
                          .key = ""};
  ops::AttentionInputs in{.q = q, .k = k, .v = v, .cu_q = cu_seqlens, .cu_k = cu_seqlens};
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
      State s;
      s.name = cache_name(layer, which);
      s.role = Role::cache;
      Program& p = b.program();
      ValueId old_version =
          p.add_state(std::move(s), {DType::f32, {cache_pages, cache_page, width}});
      ValueId next = ops::cache_write(b, old_version, *value, slots);
      p.state_of(old_version)->next = next;
      *value = next;
    }
    in.cu_k = cu_cache;
    in.block_table = block_table;
  }
  return ops::attention(b, in, o).out;
}

void add_model_states(ModelGraph& g, bool trainable) {
  const Family& f = family_of(g.config);
  Program& p = g.b.program();
  for (const ParamSpec& spec : f.params(g.config)) {
    State s;
    s.name = spec.name;
    s.role = Role::param;
    s.trainable = trainable;
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
  ValueId hidden = f.body(g);
  if (g.label_rows != kNoValue) hidden = ops::gather_rows(g.b, hidden, g.label_rows);
  Builder::Scope head(g.b, "head");
  return f.head(g, hidden);
}

ValueId logits_of(Builder& b, const HeadLayer& head) {
  return ops::linear(b, head.x, head.weight, {.bias = head.bias, .trans_w = true});
}

}  // namespace hone
