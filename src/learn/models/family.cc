#include "learn/models/family.h"

#include "base/core/text.h"
#include "learn/models/errors.h"
#include "learn/models/nearest_family.h"
#include "learn/models/text_embedding.h"
#include "learn/models/timm_config.h"

namespace hone {

std::vector<Family> all_family();  // generated from the files of this folder

namespace {

bool has_head(const Family& f, Head head) {
  return std::ranges::any_of(f.heads, [&](const HeadOffer& o) { return o.head == head; });
}

bool is_decoder(const Family& f) {
  return !f.encoder && !f.heads.empty() && f.heads.front().head == Head::causal_lm;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> shelf = [] {
    std::vector<Family> all = all_family();
    for (Family& f : all) {
      if (is_decoder(f))
        f.heads.push_back({Head::sequence_classification, "ForSequenceClassification"});
      if (has_head(f, Head::token_classification))
        f.heads.push_back({Head::question_answering, "ForQuestionAnswering"});
    }
    return all;
  }();
  return shelf;
}

namespace {

// Transformers' GenericForSequenceClassification.
HeadLayer score_head(ModelGraph& g, ValueId hidden) {
  g.of_head = true;
  return {hidden, g.matrix("score.weight", g.config.labels, g.config.hidden)};
}

// The scores of answers of Transformers' encoders; DistilBERT has a dropout before them.
HeadLayer answer_head(ModelGraph& g, ValueId hidden) {
  g.of_head = true;
  const std::string at = kAnswerModule;
  const ValueId x = g.dropout(hidden, g.config.real("qa_dropout", 0));
  const ValueId weight = g.matrix(at + ".weight", 2, g.config.hidden);
  return {x, weight, g.zeros(at + ".bias", 2)};
}

HeadLayer head_layer(const Family& f, ModelGraph& g, ValueId hidden) {
  if (g.config.head == Head::question_answering) return answer_head(g, hidden);
  if (!reads_label_rows(g.config)) return f.head(g, hidden);
  if (g.label_rows == kNoValue) hidden = g.last_tokens(hidden);
  return f.encoder ? f.head(g, hidden) : score_head(g, hidden);
}

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

// Whether a class of Transformers, "MistralForCausalLM", has the head.
bool class_has_head(const std::string& name, Head h) {
  static const std::map<Head, std::vector<const char*>> kEndings{
      {Head::causal_lm, {"ForCausalLM", "LMHeadModel"}},
      {Head::masked_lm, {"ForMaskedLM"}},
      {Head::sequence_classification, {"ForSequenceClassification"}},
      {Head::token_classification, {"ForTokenClassification"}},
      {Head::question_answering, {"ForQuestionAnswering"}},
      {Head::multiple_choice, {"ForMultipleChoice"}},
      {Head::seq2seq_lm, {"ForConditionalGeneration", "MTModel"}},
      {Head::image_classification, {"ForImageClassification"}},
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

// The family with the type and the class, where several have the type, such as T5EncoderModel; nullptr: any.
const Family* family_of_class(const std::string& type, const std::string& name) {
  for (const Family& f : families())
    for (const ModelType& t : f.model_types)
      for (const HeadOffer& offer : f.heads)
        if (t.name == type && name == t.class_prefix + offer.class_ending) return &f;
  return nullptr;
}

Error unknown_type(const nlohmann::json& config, const std::string& type,
                   std::vector<std::string> known) {
  std::sort(known.begin(), known.end());
  std::string todo;
  if (const std::string near = nearest_name(type, known); !near.empty())
    todo = fmt::format("did you mean '{}'? ", near);
  std::map<std::string, const char*> usual;
  for (const Family& f : families())
    for (const ModelType& t : f.model_types)
      if (*t.usual != 0) usual[t.name] = t.usual;
  if (const std::string nearest = nearest_family_text(config, usual); !nearest.empty())
    todo += nearest + "; docs/families.md shows how to add a family as one file; ";
  return Error(err::kUnknownFamily, type.empty()
                                        ? std::string("config.json names no model_type")
                                        : fmt::format("hone has no model family '{}'", type))
      .todo(fmt::format("{}model types that work: {}", todo, join(known, ", ")));
}

bool read_by_a_family(const std::string& type) {
  for (const Family& f : families())
    for (const ModelType& t : f.model_types)
      if (t.name == type) return true;
  return false;
}

Status check_share(const ModelConfig& c, const char* key) {
  auto it = c.config.find(key);
  if (it == c.config.end() || it->is_null()) return Ok{};
  const double p = it->is_number() ? it->get<double>() : -1;
  if (!(p >= 0 && p < 1))
    return Error(
        err::kBadConfig,
        fmt::format("config.json: '{}' is {}, a share from 0 to 1 is expected", key, it->dump()));
  return Ok{};
}

}  // namespace

Status check_common(const ModelConfig& c, const Family& f) {
  HONE_TRY(check_range("the hidden size", c.hidden, 1, kLargestSize));
  HONE_TRY(check_range("the number of layers", c.layers, 1, kMostLayers));
  HONE_TRY(check_range("the number of heads", c.heads, 1, kLargestSize));
  HONE_TRY(check_range("the number of key/value heads", c.kv_heads, 1, kLargestSize));
  HONE_TRY(check_range("the head size", c.head_dim, 1, kLargestSize));
  if (c.heads % c.kv_heads != 0)
    return Error(err::kBadConfig,
                 fmt::format("config.json: {} heads cannot share {} key/value heads evenly",
                             c.heads, c.kv_heads));
  if (f.reads_text) {
    HONE_TRY(check_range("the vocabulary", c.vocab, 1, kLargestSize));
    HONE_TRY(check_range("the number of positions", c.max_positions, 1, kLargestSize));
  }
  if (!f.reads_text) {
    HONE_TRY(check_range("the height of images", c.image_height, 1, kLargestImage));
    HONE_TRY(check_range("the width of images", c.image_width, 1, kLargestImage));
    HONE_TRY(check_range("the number of channels of images", c.channels, 1, kLargestSize));
  }
  if (f.encoder) {
    HONE_TRY(check_range("the encoder's vocabulary", c.source_vocab, 1, kLargestSize));
    HONE_TRY(check_range("the number of the encoder's heads", c.encoder_heads, 1, kLargestSize));
  }
  for (const char* key : f.dropouts) HONE_TRY(check_share(c, key));
  return Ok{};
}

Result<ModelConfig> read_model_config(const nlohmann::json& config) {
  if (!config.is_object()) return Error(err::kBadConfig, "config.json is not a JSON object");
  if (is_timm_config(config)) {
    ModelConfig c = HONE_TRY(read_model_config(HONE_TRY(config_of_timm(config))));
    c.timm = std::make_shared<const nlohmann::json>(config);
    c.layout = kTimmLayout;
    return c;
  }
  ModelConfig c;
  c.config = config;
  std::string type = c.text("model_type", "");
  std::vector<std::string> known;
  const Family* named = family_of_class(type, named_class(c));
  for (const Family& f : families()) {
    if (named != nullptr && &f != named) continue;
    for (const ModelType& t : f.model_types) {
      // For an encoder-decoder the names of others help.
      if (f.encoder || !c.flag("is_encoder_decoder", false)) known.push_back(t.name);
      if (t.name != type) continue;
      c.family = f.name;
      c.adapted = t.adapted;
      HONE_TRY(check_numbers(c));
      HONE_TRY(f.read_config(c));
      HONE_TRY(check_common(c, f));
      c.head = head_of_config(c, f);
      if (classifies(c.head)) c.labels = config_labels(c);
      if (c.head == Head::multiple_choice) c.labels = 1;
      return c;
    }
  }
  return unknown_type(config, type, std::move(known));
}

Result<nlohmann::json> usual_config(const std::string& model_type, const std::string& overrides) {
  std::vector<std::string> known;
  nlohmann::json config;
  for (const Family& f : families())
    for (const ModelType& t : f.model_types) {
      if (*t.usual == 0) continue;
      known.push_back(t.name);
      if (t.name == model_type) config = HONE_TRY(parse_json(t.usual, t.name));
    }
  if (config.is_null() && read_by_a_family(model_type))
    return Error(err::kUnknownFamily,
                 fmt::format("hone knows no usual config of the type '{}'", model_type))
        .todo(
            fmt::format("give a whole config.json by --config_name; types with a usual config: {}",
                        join(known, ", ")));
  if (config.is_null()) return unknown_type(nlohmann::json::object(), model_type, std::move(known));
  config["model_type"] = model_type;
  for (const std::string& part : split(overrides, ',')) {
    const std::string one(trim(part));
    if (one.empty()) continue;
    const size_t equals = one.find('=');
    const std::string key(trim(one.substr(0, equals)));
    if (equals == std::string::npos)
      return Error(err::kBadConfig, fmt::format("the override '{}' has no value", one))
          .todo(fmt::format("write {}=VALUE", key));
    if (!config.contains(key)) {
      std::vector<std::string> keys;
      for (const auto& [name, value] : config.items()) keys.push_back(name);
      const std::string near = nearest_name(key, keys);
      return Error(err::kBadConfig,
                   fmt::format("a config of the type {} has no key '{}'", model_type, key))
          .todo(near.empty() ? fmt::format("its keys: {}", join(keys, ", "))
                             : fmt::format("did you mean '{}'?", near));
    }
    // Words are text; numbers, true, false and null are read as JSON.
    const std::string text(trim(one.substr(equals + 1)));
    Json value;
    if (parse_json(text, {.strict = true}, value)) value = text;
    const nlohmann::json& old = config[key];
    const bool fits = old.is_null() || value.is_null() ||
                      (old.is_number() ? value.is_number() : old.type() == value.type());
    if (!fits)
      return Error(err::kBadConfig,
                   fmt::format("'{}' cannot be '{}'; it is {} by itself", key, text, old.dump()));
    config[key] = std::move(value);
  }
  return config;
}

const Family& family_of(const ModelConfig& c) {
  for (const Family& f : families())
    if (f.name == c.family) return f;
  HONE_BUG_IF(true, "family '{}' is not on the shelf", c.family);
  __builtin_unreachable();
}

namespace {

// The names of the heads that models of the type have.
std::vector<std::string> heads_of_type(const Family& f, const std::string& type) {
  std::vector<std::string> names;
  for (const HeadOffer& offer : f.heads)
    if (offer.model_types.empty() || std::ranges::count(offer.model_types, type) > 0)
      names.push_back(name_of(offer.head));
  return names;
}

// "bart, marian, t5": some model types with the head.
std::string types_with_head(Head head) {
  constexpr size_t kShown = 8;
  std::vector<std::string> names;
  for (const Family& f : families())
    for (const ModelType& t : f.model_types)
      if (std::ranges::count(heads_of_type(f, t.name), name_of(head)) > 0) names.push_back(t.name);
  const bool more = names.size() > kShown;
  if (more) names.resize(kShown);
  return join(names, ", ") + (more ? ", ..." : "");
}

}  // namespace

Status set_head(ModelConfig& c, Head head, int64_t labels) {
  const Family& f = family_of(c);
  const std::vector<std::string> offered = heads_of_type(f, c.text("model_type", ""));
  if (std::ranges::count(offered, name_of(head)) == 0)
    return Error(err::kHeadNotOffered,
                 fmt::format("models of the family {} have no head '{}'", f.name, name_of(head)))
        .todo(fmt::format("use a model that has it ({}), or a task for the heads of {}: {}; 'hone "
                          "help models' lists the tasks of each model type",
                          types_with_head(head), f.name, join(offered, ", ")));
  HONE_BUG_IF(classifies(head) != (labels > 0), "head {} with {} labels", name_of(head), labels);
  c.head = head;
  c.labels = head == Head::multiple_choice ? 1 : labels;
  return Ok{};
}

Status set_head(ModelConfig& c, Head head, const std::vector<std::string>& labels) {
  nlohmann::json to_id = nlohmann::json::object(), to_label = nlohmann::json::object();
  for (size_t i = 0; i < labels.size(); ++i) {
    to_id[labels[i]] = i;
    to_label[std::to_string(i)] = labels[i];
  }
  c.config["id2label"] = to_label;
  c.config["label2id"] = to_id;
  c.config.erase("num_labels");
  return set_head(c, head, static_cast<int64_t>(labels.size()));
}

std::string architecture_of(const ModelConfig& c) {
  if (const std::string named = named_class(c); class_has_head(named, c.head)) return named;
  const Family& f = family_of(c);
  std::string prefix = f.model_types.front().class_prefix;
  for (const ModelType& t : f.model_types)
    if (t.name == c.text("model_type", "")) prefix = t.class_prefix;
  for (const HeadOffer& offer : f.heads)
    if (offer.head == c.head) return prefix + offer.class_ending;
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

namespace {

// Runs the family's graph for one token or image.
DeclaredWeights declare_weights(const ModelConfig& c) {
  const Family& f = family_of(c);
  Program p(op_table(), "declare");
  Builder b(p);
  DeclaredWeights declared;
  ModelGraph g(b, c, ModelGraph::Mode::eval, &declared);
  const Type one{DType::i32, {1}}, ends{DType::i32, {2}};
  if (f.reads_text) {
    g.ids = p.add_input("ids", one);
    g.positions = p.add_input("positions", one);
    g.cu_seqlens = p.add_input("cu_seqlens", ends);
  } else {
    g.pixels = p.add_input("pixels", {DType::f32, {1, c.image_height, c.image_width, c.channels}});
  }
  if (f.encoder) {
    g.encoder_ids = p.add_input("encoder_ids", one);
    g.encoder_positions = p.add_input("encoder_positions", one);
    g.encoder_cu_seqlens = p.add_input("encoder_cu_seqlens", ends);
    g.encode(f.encoder);
  }
  const ValueId hidden = f.body(g);
  if (c.head != Head::none) head_layer(f, g, hidden);
  // Nothing reads the pooler that a checkpoint of the body may have.
  if (c.head == Head::none)
    for (ParamSpec& spec : declared.params) spec.trained = spec.trained && !spec.of_head;
  if (!c.embedding) return declared;
  g.of_head = true;
  text_embeddings(g, hidden, p.add_input("segments", one));
  return declared;
}

}  // namespace

std::vector<ParamSpec> Family::params(const ModelConfig& c) const {
  return std::move(declare_weights(c).params);
}

std::vector<ConstantTable> Family::constants(const ModelConfig& c) const {
  std::vector<ConstantTable> tables;
  for (const ConstantSpec& spec : declare_weights(c).constants)
    tables.push_back({spec.name, spec.shape, spec.values()});
  return tables;
}

void add_model_states(ModelGraph& g, bool trainable) {
  g.bind(declare_weights(g.config), trainable);
}

HeadLayer model_head(ModelGraph& g) {
  const Family& f = family_of(g.config);
  HONE_BUG_IF(g.config.head == Head::none, "a model without a head gives hidden states alone");
  if (f.encoder) g.encode(f.encoder);
  ValueId hidden = f.body(g);
  if (g.label_rows != kNoValue) hidden = ops::gather_rows(g.b, hidden, g.label_rows);
  Builder::Scope head(g.b, "head");
  return head_layer(f, g, hidden);
}

bool reads_label_rows(const ModelConfig& c) {
  const Family& f = family_of(c);
  return c.head == Head::sequence_classification && (f.encoder || is_decoder(f));
}

std::vector<std::string> Family::other_names(const ModelConfig& c, const ParamSpec& spec) const {
  std::vector<std::string> names;
  auto add = [&](const std::string& other) {
    if (other != spec.name && std::find(names.begin(), names.end(), other) == names.end())
      names.push_back(other);
  };
  auto add_spellings = [&](const std::string& name) {
    add(name);
    if (body_prefix.empty()) return;
    if (name.starts_with(body_prefix))
      add(name.substr(body_prefix.size()));
    else if (c.head == Head::none)
      add(body_prefix + name);
  };
  add_spellings(spec.name);
  for (const std::string& other : spec.also) add_spellings(other);
  return names;
}

bool Family::leaves_unread(const std::string& name) const {
  return std::any_of(unread.begin(), unread.end(),
                     [&](const std::string& ending) { return name.ends_with(ending); });
}

void count_positions(const ModelConfig& c, std::span<const int32_t> ids,
                     std::span<int32_t> positions) {
  if (const Family& f = family_of(c); f.count_positions) f.count_positions(c, ids, positions);
}

ModelConfig without_dropout(ModelConfig c) {
  for (const char* key : family_of(c).dropouts) c.config[key] = 0.0;
  return c;
}

int64_t parameter_count(const ModelConfig& c, bool with_tables) {
  int64_t n = 0;
  for (const ParamSpec& p : family_of(c).params(c))
    if (with_tables || !p.looked_up) n += Type{DType::f32, p.shape}.count();
  return n;
}

}  // namespace hone
