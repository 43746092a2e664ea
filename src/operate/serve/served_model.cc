#include "operate/serve/served_model.h"

#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "engine/backends/backends.h"
#include "learn/generate/cache_budget.h"
#include "learn/generate/errors.h"
#include "learn/generate/prompts.h"
#include "learn/models/adapter_config.h"
#include "learn/models/image_model.h"
#include "learn/pretrained/stored.h"
#include "learn/pretrained/weights.h"
#include "operate/serve/answer_watch.h"
#include "operate/serve/cancellable_weights.h"
#include "operate/serve/errors.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr int64_t kLongest = 2048;  // default number of tokens of a sequence
constexpr int64_t kLongestRow = 512;
constexpr int64_t kContextRow = 384;        // run_qa's default
constexpr size_t kMostTextBytes = 1 << 20;  // or 64 for each token of the longest sequence, if more

// The wanted limits, within a quarter of the device's memory unless another size is given.
Result<CacheLimits> cache_limits(const ModelConfig& c, const ServedOptions& o,
                                 WeightStorage weights, int64_t longest, const Backend& backend) {
  CacheLimits wanted{.rows = o.batch_size, .tokens = longest, .longest_prompt = longest};
  wanted.weights = weights;
  if (family_of(c).encoder) {
    wanted.sources = o.batch_size;
    wanted.longest_source = longest;
  }
  const int64_t usable = usable_bytes(backend.spec());
  const int64_t cache = o.cache_bytes > 0 ? o.cache_bytes : usable / 4;
  return fit_cache(c, wanted, {.arena_bytes = usable, .cache_bytes = cache}, backend);
}

// On a device with memory of its own weights are not kept as stored.
bool keeps_stored(const ServedOptions& o, const Backend& backend) {
  return is_as_stored(o.open.quantization) && !backend.spec().own_memory;
}

WeightStorage storage_of(const Pretrained& model, const ServedOptions& o, const Backend& backend) {
  return keeps_stored(o, backend) ? storage_in_file(*model.weights) : o.weights;
}

// The last reference to a model may end on the model's own thread, which cannot join itself.
class Unloader {
 public:
  template <class F>
  void start(F f) {
    std::lock_guard lock(mutex_);
    ++running_;
    std::thread([this, f] {
      f();
      std::lock_guard end(mutex_);
      --running_;
      done_.notify_all();
    }).detach();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  int running_ = 0;
};
Unloader& unloader() {
  static Unloader& u = *new Unloader();
  return u;
}

}  // namespace

void wait_for_unloads() { unloader().wait(); }

void ServedModel::unload(ServedModel* m) {
  unloader().start([m] { delete m; });
}

std::optional<ServedTask> served_task(Head head) {
  switch (head) {
    case Head::causal_lm:
      return ServedTask::generation;
    case Head::seq2seq_lm:
      return ServedTask::text2text;
    case Head::sequence_classification:
    case Head::multiple_choice:  // of a context and a choice: its score
      return ServedTask::classification;
    case Head::masked_lm:
      return ServedTask::fill_mask;
    case Head::image_classification:
      return ServedTask::image_classification;
    case Head::token_classification:
      return ServedTask::token_classification;
    case Head::question_answering:
      return ServedTask::question_answering;
    default:
      return {};
  }
}

std::string name_of(ServedTask task) {
  switch (task) {
    case ServedTask::generation:
      return "text-generation";
    case ServedTask::text2text:
      return "text2text-generation";
    case ServedTask::classification:
      return "text-classification";
    case ServedTask::fill_mask:
      return "fill-mask";
    case ServedTask::embedding:
      return "feature-extraction";
    case ServedTask::image_classification:
      return "image-classification";
    case ServedTask::token_classification:
      return "token-classification";
    case ServedTask::question_answering:
      return "question-answering";
  }
  return "";
}

bool writes_text(ServedTask task) {
  return task == ServedTask::generation || task == ServedTask::text2text;
}

Result<std::shared_ptr<ServedModel>> ServedModel::load(const std::string& name,
                                                       const std::string& version,
                                                       const std::string& source,
                                                       const ServedOptions& o) {
  std::shared_ptr<ServedModel> m(new ServedModel(), unload);
  m->name_ = name;
  m->version_ = version;
  m->deployed_id_ = o.deployed_id;
  m->clock_ = o.engine.clock;
  if (o.metrics)
    m->latencies_.emplace(*o.metrics, MetricLabels{{"model", name}, {"version", version}});
  HONE_TRY(m->open(source, o));
  if (writes_text(m->task_))
    HONE_TRY(m->load_text(o));
  else if (m->task_ == ServedTask::image_classification)
    HONE_TRY(m->load_images(o));
  else
    HONE_TRY(m->load_rows(o));
  m->loaded_at_ = m->clock_->wall_seconds();
  return m;
}

// Everything that needs no program: config, tokenizer, names of weights, the device.
Status ServedModel::open(const std::string& source, const ServedOptions& o) {
  const auto check_cancelled = [&]() -> Status {
    if (o.cancelled && o.cancelled()) return server_ends();
    return Ok{};
  };
  HONE_TRY(check_cancelled());
  backend_ = HONE_TRY(open_device(o.device, {.threads = static_cast<int>(o.threads)}));
  OpenOptions options = o.open;
  if (is_as_stored(options.quantization) && !keeps_stored(o, *backend_)) options.quantization = {};
  model_ = HONE_TRY(open_pretrained(source, options));
  HONE_TRY(check_cancelled());
  prefix_ = prompt_prefix(model_, o.prefix);
  HONE_TRY(check_adapter(model_.config));
  if (const auto modules = HONE_TRY(read_sentence_modules(model_.path))) {
    HONE_TRY(embed_with(model_, *modules));
    if (!o.prefix) prefix_ = HONE_TRY(modules->prompt(""));
  }
  HONE_TRY(check_weights(*model_.weights, model_.config));
  if (o.cancelled) model_.weights = cancellable_weights(std::move(model_.weights), o.cancelled);
  const ModelConfig& c = model_.config;
  const std::optional<ServedTask> task =
      c.embedding ? std::optional(ServedTask::embedding) : served_task(c.head);
  if (!task)
    return Error(err::kServeModel,
                 fmt::format("a model with the head {} is not served", name_of(c.head)))
        .at(source)
        .todo(
            "serve a causal, masked or encoder-decoder language model, a classifier of texts, "
            "tokens or images, a model that answers from a context, or a folder of "
            "sentence-transformers with its modules.json");
  task_ = *task;
  int64_t usual = writes_text(task_) ? kLongest : kLongestRow;
  const bool of_tokens =
      task_ == ServedTask::token_classification || task_ == ServedTask::question_answering;
  if (of_tokens && o.prefix && !o.prefix->empty())
    return Error(err::kServeFlag, "a model that looks at tokens reads its texts without a prefix")
        .at("--prefix")
        .todo("leave it out");
  // Rows of a classifier are cut where those of its training were, and so are contexts.
  if (task_ == ServedTask::question_answering) usual = kContextRow;
  if (const int64_t trained = model_.trained.number("max_seq_length");
      trained > 0 &&
      (task_ == ServedTask::classification || task_ == ServedTask::question_answering))
    usual = trained;
  if (task_ == ServedTask::embedding) usual = c.embedding->longest;
  if (scores_pairs()) sigmoid_score_ = HONE_TRY(score_activation(c)) == "sigmoid";
  if (task_ == ServedTask::text2text)
    usual = std::max(usual, model_.trained.number("max_source_length"));
  longest_ = std::min(o.max_length > 0 ? o.max_length : usual, c.max_positions);
  if (task_ == ServedTask::fill_mask) {
    mask_ = tokenizer().mask_id().value_or(-1);
    if (mask_ < 0)
      return Error(err::kServeModel, "the tokenizer has no mask token")
          .at(source)
          .todo("serve a model whose tokenizer has one, such as [MASK]");
  }
  return check_cancelled();
}

EngineOptions ServedModel::engine_options(const ServedOptions& o) {
  EngineOptions e = o.engine;
  e.statistics = &statistics_;
  return e;
}

Status ServedModel::load_text(const ServedOptions& o) {
  GenerationConfig g = HONE_TRY(generation_of(model_));
  if (task_ == ServedTask::text2text) {
    const int64_t trained =
        std::min(model_.trained.number("max_source_length"), model_.config.max_positions);
    if (trained <= longest_) source_tokens_ = trained;
    const Json& tasks = model_.config.config.value("task_specific_params", Json());
    std::vector<PromptRow> rows{{prefix_, {}}};
    if (!o.task.empty() && tasks.is_object() && tasks.contains(o.task)) {
      const std::string own = text_at(tasks[o.task], "prefix");
      if (!o.prefix && prefix_.empty()) prefix_ = own;
      rows[0].text = own;
    }
    HONE_TRY(apply_task_params(g, model_, rows));
    if (!g.has_length()) g.max_new_tokens = kDefaultTargetLength;
  }
  HONE_TRY(check_generation(g, model_.config.vocab));
  defaults_ = std::move(g);
  const TokenizerParts& t = tokenizer().parts();
  if (!t.chat_template.empty()) chat_ = ChatTemplate::parse(t.chat_template);
  if (!t.tool_chat_template.empty()) tool_chat_ = ChatTemplate::parse(t.tool_chat_template);
  for (const auto& chat : {&chat_, &tool_chat_})
    if (*chat && !(*chat)->ok())
      log_warning("{} cannot answer chats: {}", name_, (*chat)->error().text());
  const CacheLimits limits = HONE_TRY(
      cache_limits(model_.config, o, storage_of(model_, o, *backend_), longest_, *backend_));
  auto engine = HONE_TRY(TextEngine::make(model_, limits, *backend_, engine_options(o)));
  ask_ = [this, &e = *engine](TextQuery query, OnPiece on_piece,
                              OnDone on_done) -> Result<uint64_t> {
    HONE_TRY(check_bytes(query));
    return ask_text(e, std::move(query), std::move(on_piece), std::move(on_done));
  };
  engine_ = std::move(engine);
  return Ok{};
}

Status ServedModel::load_rows(const ServedOptions& o) {
  const RowLimits limits{.rows = o.batch_size,
                         .tokens = std::max(longest_, kLongestRow),
                         .weights = storage_of(model_, o, *backend_)};
  if (task_ == ServedTask::token_classification) label_names_ = label_names(model_.config);
  auto engine = HONE_TRY(RowEngine::make(model_, limits, *backend_, engine_options(o)));
  ask_ = [this, &e = *engine](TextQuery query, const OnPiece&, OnDone on_done) -> Result<uint64_t> {
    HONE_TRY(check_bytes(query));
    if (task_ == ServedTask::token_classification)
      return ask_entities(e, std::move(query), std::move(on_done));
    if (task_ == ServedTask::question_answering)
      return ask_answer(e, std::move(query), std::move(on_done));
    return ask_rows(e, std::move(query), std::move(on_done));
  };
  engine_ = std::move(engine);
  return Ok{};
}

Status ServedModel::load_images(const ServedOptions& o) {
  if (o.weights != WeightStorage::f32 ||
      (o.open.quantization && !is_as_stored(o.open.quantization)))
    return Error(err::kServeModel, "the weights of a model of images are served as f32 alone")
        .at(model_.name)
        .todo("leave --dtype and quantization out");
  images_ = HONE_TRY(ServedImages::make(model_));
  label_names_ = label_names(model_.config);
  auto engine = HONE_TRY(
      ImageEngine::make(model_, images_->processor(), o.batch_size, *backend_, engine_options(o)));
  ask_ = [this, &e = *engine](const TextQuery& query, const OnPiece&,
                              OnDone on_done) -> Result<uint64_t> {
    return ask_images(e, query, std::move(on_done));
  };
  engine_ = std::move(engine);
  return Ok{};
}

int64_t ServedModel::embedding_width() const {
  const auto& form = model_.config.embedding;
  return form ? form->width(model_.config.hidden) : 0;
}

bool ServedModel::scores_pairs() const {
  return task_ == ServedTask::classification && model_.config.labels == 1;
}

double ServedModel::pair_score(double logit) const {
  return sigmoid_score_ ? 1 / (1 + std::exp(-logit)) : logit;
}

bool ServedModel::knows_chats() const {
  return task_ == ServedTask::generation && hone::knows_chats(model_) && chat_template(false).ok();
}

Result<const ChatTemplate*> ServedModel::chat_template(bool tools) const {
  const auto& chat = tools && tool_chat_ ? tool_chat_ : chat_;
  if (!chat)
    return Error(err::kServeRequest, "the model has no chat template")
        .todo("send the whole text to /v1/completions");
  if (!chat->ok()) return chat->error();
  return &**chat;
}

// The settings of a request over the defaults of the model.
struct ServedModel::Settings {
  std::weak_ptr<const Json> json;  // source of these settings
  GenerationConfig config;
  int64_t source_tokens = 0;  // a longer source is cut; 0: it is refused
};

// The texts of a request have the same settings: they are parsed once, and all waiting texts share
// one copy, even with long stop texts.
Result<std::shared_ptr<const ServedModel::Settings>> ServedModel::read_settings(
    const TextQuery& query) {
  const std::shared_ptr<const Json>& json = query.settings;
  if (json) {
    std::lock_guard lock(settings_mutex_);
    if (auto last = last_settings_.lock(); last && last->json.lock() == json) return last;
  }
  if (json && !json->is_null() && !json->is_object())
    return Error(err::kServeRequest, "the parameters are not an object");
  auto s = std::make_shared<Settings>(Settings{json, defaults_, source_tokens_});
  if (json && json->is_object() && !json->empty()) {
    Json rest = *json;
    // Takes the values of Transformers' pipelines: true, or the name of a strategy.
    if (const auto t = rest.find("truncation"); t != rest.end()) {
      const bool cuts = *t == Json(true) || (t->is_string() && *t != Json("do_not_truncate"));
      const int64_t limit = source_tokens_ > 0 ? source_tokens_ : longest_;
      s->source_tokens = cuts ? limit : 0;
      rest.erase(t);
    }
    // OpenAI's requests have their settings beside the prompt.
    HONE_TRY(apply_request_json(s->config, rest, query.form ? "the body" : "parameters"));
    if (query.form) HONE_TRY(read_form(s->config, *query.form));
    HONE_TRY(check_generation(s->config, model_.config.vocab));
  }
  std::lock_guard lock(settings_mutex_);
  last_settings_ = s;
  return std::shared_ptr<const Settings>(std::move(s));
}

Status ServedModel::read_form(GenerationConfig& config, const AnswerForm& form) {
  config.top_logprobs = form.top_logprobs;
  config.prompt_logprobs = form.prompt_logprobs;
  if (form.prompt_logprobs && task_ == ServedTask::text2text)
    return Error(err::kServeRequest, "an encoder-decoder gives no log probabilities of its source")
        .todo("ask for the log probabilities of the answer alone");
  if (form.language)
    config.grammar =
        std::make_shared<const TokenGrammar>(TokenGrammar{form.language, token_trie()});
  return Ok{};
}

// The bytes of a token are those within a text. At the beginning of a text some tokenizers drop a
// space, which every language of AnswerForm allows there.
std::shared_ptr<const TokenTrie> ServedModel::token_trie() {
  std::call_once(trie_once_, [this] {
    std::string bytes;
    trie_ = std::make_shared<const TokenTrie>(model_.config.vocab, [&](int32_t id) {
      bytes.clear();
      Tokenizer::DecodeState within{.first = false, .lead_taken = -1};
      tokenizer().decode_next(id, true, within, bytes);
      return std::string_view(bytes);
    });
  });
  return trie_;
}

// A text that cannot fit is refused before the time that its tokens take.
Status ServedModel::check_bytes(const TextQuery& query) const {
  const size_t bytes = query.text.size() + (query.pair ? query.pair->size() : 0);
  const size_t most = std::max(kMostTextBytes, 64 * static_cast<size_t>(longest_));
  if (bytes <= most) return Ok{};
  return Error(err::kPromptTooLong,
               fmt::format("the text has {} bytes, the server reads {}", bytes, most))
      .todo("shorten the text");
}

// The tokens of a text, or of a source and the decoder's first ones.
Result<Prompt> ServedModel::prompt_of(TextQuery& query, const Settings& settings) const {
  const GenerationConfig& config = settings.config;
  std::vector<PromptRow> rows(1);
  if (query.tokens.empty() && settings.source_tokens > 0 && task_ == ServedTask::text2text) {
    Encoding encoded;
    HONE_TRY(tokenizer().encode_to(
        prefix_ + query.text, {}, encoded, {.add_special_tokens = query.special_tokens},
        tokenizer().truncate_options(Truncation::only_first, settings.source_tokens)));
    rows[0].tokens = std::move(encoded.ids);
  } else if (query.tokens.empty()) {
    rows[0].text = prefix_ + query.text;
    encode_prompts(rows, tokenizer(), {.add_special_tokens = query.special_tokens},
                   config.bos_token_id);
  } else {
    rows[0].tokens = std::move(query.tokens);
  }
  std::vector<Prompt> prompts = HONE_TRY(generator_prompts(rows, config, model_.config));
  HONE_TRY(check_sources(prompts, model_.config));
  HONE_TRY(check_prompts(prompts, config, model_.config.vocab,
                         std::min(model_.config.max_positions, longest_)));
  return std::move(prompts[0]);
}

// The texts of one query's sequences, piece by piece; used on the model's thread.
class ServedModel::Pieces {
 public:
  // `before`: the tokens that the new ones follow.
  Pieces(const Tokenizer& tokenizer, std::span<const int32_t> before, int64_t sequences,
         OnPiece on_piece)
      : on_piece_(std::move(on_piece)) {
    for (int64_t i = 0; i < sequences; ++i) {
      decoders_.emplace_back(tokenizer);
      for (const int32_t id : before.last(std::min<size_t>(before.size(), 8)))
        decoders_.back().push(id);
    }
  }
  void token(size_t sequence, int32_t id) { give(sequence, decoders_[sequence].push(id)); }
  // The text that the decoder still holds; for beams, which come at once, all of it.
  void end(size_t sequence, const std::string& whole) {
    give(sequence, decoders_.empty() ? whole : decoders_[sequence].finish());
  }

 private:
  void give(size_t sequence, const std::string& text) {
    if (!text.empty()) on_piece_(sequence, text);
  }
  OnPiece on_piece_;
  std::vector<StreamingDecoder> decoders_;
};

Result<uint64_t> ServedModel::ask_text(TextEngine& engine, TextQuery query, OnPiece on_piece,
                                       OnDone on_done) {
  const auto watch = std::make_shared<AnswerWatch>(statistics_, latencies_, *clock_);
  const auto settings = HONE_TRY(read_settings(query));
  const std::shared_ptr<const GenerationConfig> config(settings, &settings->config);
  TextJob job;
  job.begins = [watch] { watch->begins(); };
  job.prompt = HONE_TRY(prompt_of(query, *settings));
  HONE_TRY(engine.check(job.prompt, *config));
  job.follows = query.follows;
  job.deadline = query.deadline;
  job.config = config;
  const bool whole_text = !job.prompt.source.empty();
  std::vector<int32_t> before = whole_text ? std::vector<int32_t>() : job.prompt.tokens;
  const auto read = static_cast<int64_t>(whole_text ? job.prompt.source.size() : before.size());
  std::shared_ptr<Pieces> pieces;
  if (on_piece)
    pieces = std::make_shared<Pieces>(tokenizer(), before,
                                      config->num_beams == 1 ? config->num_return_sequences : 0,
                                      std::move(on_piece));
  const auto on_token = std::move(query.on_token);
  job.token = [watch, pieces, on_token](size_t sequence, int32_t token,
                                        const TokenLogprobs* logprobs) {
    if (sequence == 0) watch->token();
    if (on_token && logprobs) on_token(sequence, *logprobs);
    if (pieces) pieces->token(sequence, token);
  };
  job.done = [self = shared_from_this(), watch, read, before = std::move(before), pieces, config,
              on_token, on_done = std::move(on_done)](Result<std::vector<Generated>> all) {
    if (!all.ok()) return on_done(std::move(all.error()));
    watch->computed();
    TextAnswer answer;
    answer.prompt_tokens = read;
    if (config->prompt_logprobs) {
      answer.prompt = before;
      answer.prompt_logprobs = std::move(all->front().prompt_logprobs);
    }
    for (size_t i = 0; i < all->size(); ++i) {
      Generated& g = (*all)[i];
      answer.new_tokens += static_cast<int64_t>(g.tokens.size());
      if (on_token && config->num_beams > 1)
        for (const TokenLogprobs& one : g.logprobs) on_token(i, one);
      answer.texts.push_back({continuation_text(self->tokenizer(), before, g.tokens),
                              std::move(g.tokens), g.ended, g.score, std::move(g.logprobs)});
      if (pieces) pieces->end(i, answer.texts.back().text);
    }
    watch->answered();
    on_done(std::move(answer));
  };
  watch->ready();
  return engine.submit(std::move(job));
}

}  // namespace hone
