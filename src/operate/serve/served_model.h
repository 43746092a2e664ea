// A model as requests see it: texts or images go in; texts, labels, words for a mask, names in a text, parts of a
// context or embeddings come out.
//
//   auto model = HONE_TRY(ServedModel::load("t5", "1", "folder", options));
//   auto ticket = model->ask({.text = "..."}, on_piece, on_done);
#pragma once

#include <map>

#include "base/core/json.h"
#include "learn/answers/extracted_answer.h"
#include "learn/chat/chat_template.h"
#include "learn/grammar/token_masks.h"
#include "learn/pretrained/sentence_modules.h"
#include "operate/serve/entities.h"
#include "operate/serve/image_engine.h"
#include "operate/serve/row_engine.h"
#include "operate/serve/served_image.h"
#include "operate/serve/text_engine.h"

namespace hone {

struct ServedOptions {
  std::string task = "";  // of task_specific_params, such as "summarization"
  // Put before each text, such as "summarize: "; none: the words that the model was trained with.
  std::optional<std::string> prefix = {};
  std::string deployed_id = "";  // in the registry
  std::string device = "cpu";
  int64_t threads = 0;      // 0: ThreadPool::default_size()
  int64_t batch_size = 32;  // sequences that are processed together
  int64_t max_length = 0;   // tokens of a sequence; 0: the model's positions, at most 2048
  int64_t cache_bytes = 0;  // of the KV cache; 0: the need, at most a quarter of the memory
  WeightStorage weights = WeightStorage::f32;
  EngineOptions engine = {};
  Metrics* metrics = nullptr;  // receives the latencies; outlives the model
  OpenOptions open = {};
  // Asked between the steps of loading and before each weight; true: the load ends with H3412. None: never.
  std::function<bool()> cancelled = {};
};

enum class ServedTask {
  generation,
  text2text,
  classification,
  fill_mask,
  embedding,
  image_classification,
  token_classification,
  question_answering
};
// The task of models with this head; nullopt: they are not served.
std::optional<ServedTask> served_task(Head head);
bool writes_text(ServedTask task);     // generation and text2text
std::string name_of(ServedTask task);  // "text-generation", as pipelines of Transformers are called

// Limits of the answers of a request, and the reports about them.
struct AnswerForm {
  // GenerationConfig has the meaning of these two.
  std::optional<int64_t> top_logprobs = {};
  bool prompt_logprobs = false;
  std::shared_ptr<const Automaton> language = {};  // of the answers; none: any text
};

// One text of a request.
struct TextQuery {
  std::string text;
  std::optional<std::string> pair = {};  // classification of pairs; the context of a question
  std::vector<int32_t> tokens = {};      // replaces the text
  std::string image = {};  // bytes of a file, for a classifier of images; replaces the text
  // For generation keys of generation_config.json; for names in a text those of entity_rules(), for answers from
  // a context {"top_k", "max_answer_len", "handle_impossible_answer"}; the other tasks: {"top_k": labels or words}.
  // The texts of a request share them. Null: none.
  std::shared_ptr<const Json> settings = {};
  // For generation; shared as `settings` is, which it needs.
  std::shared_ptr<const AnswerForm> form = {};
  // Log probabilities of new tokens as they come, before the piece of text that they end.
  std::function<void(size_t sequence, const TokenLogprobs& logprobs)> on_token = {};
  bool special_tokens = true;  // add the tokenizer's special tokens around a text
  Deadline deadline = kNoDeadline;
  bool follows = false;  // another query of its request
};
struct Written {
  std::string text;
  std::vector<int32_t> tokens;
  bool ended = false;  // by an end token, a stop string or its form, not by the length
  double score = 0;
  std::vector<TokenLogprobs> logprobs = {};  // of `tokens`, if the form asks for them
};
struct Scored {
  std::string label;
  double score = 0;
  int32_t token = -1;  // fill-mask
};
// A part of a context that answers a question.
struct Extracted {
  std::string text;           // "": the context has no answer
  double score = 0;           // among the answers that were looked at
  size_t begin = 0, end = 0;  // characters of the context
};
struct TextAnswer {
  int64_t prompt_tokens = 0, new_tokens = 0;
  std::vector<Written> texts;   // of generation
  std::vector<int32_t> prompt;  // tokens, if the form asks for their log probabilities
  std::vector<TokenLogprobs> prompt_logprobs;  // of its tokens after the first
  std::vector<std::vector<Scored>> labels;     // best first, for each mask
  std::vector<float> embedding;                // of an embedding model
  std::vector<Entity> entities;                // of token classification
  std::vector<Extracted> answers;              // of question answering: top_k, the answer first
};

class ServedModel : public std::enable_shared_from_this<ServedModel> {
 public:
  // H3401: this kind of model cannot be served. H3402: a prefix that it does not take. H3412: it was cancelled. Errors of models and devices.
  static Result<std::shared_ptr<ServedModel>> load(const std::string& name,
                                                   const std::string& version,
                                                   const std::string& source,
                                                   const ServedOptions& options);

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& deployed_id() const { return deployed_id_; }
  ServedTask task() const { return task_; }
  const Tokenizer& tokenizer() const { return *model_.tokenizer; }
  const std::vector<std::string>& trained_columns() const { return model_.trained.columns; }
  // The characters that joined the texts of trained_columns() into one text; none: two of them are a pair.
  std::optional<std::string> trained_delimiter() const;
  // Whether a text is an instance only with a second one: the training read pairs.
  bool reads_pairs() const {
    return task_ == ServedTask::classification && trained_columns().size() == 2 &&
           !trained_delimiter();
  }
  // Whether a chat asks the model as it was trained: it has a template, and learnt no plain prompts.
  bool knows_chats() const;
  const std::string& trained_on() const { return model_.trained.task; }  // "sft"; "": unknown
  double loaded_at() const { return loaded_at_; }                        // seconds since 1970
  EngineLoad load() const { return engine_->load(); }
  ModelStatistics& statistics() { return statistics_; }
  const ModelStatistics& statistics() const { return statistics_; }
  const Clock& clock() const { return *clock_; }
  // The chat template for chats with tools, or without. H3415: the model has none. H2911, H2913: it
  // cannot be run.
  Result<const ChatTemplate*> chat_template(bool tools) const;
  int64_t longest() const { return longest_; }  // tokens of a sequence
  int64_t embedding_width() const;              // numbers of an embedding; 0: the model gives none
  // Whether the model gives a pair of texts one number: a reranker. The number as its folder wants it.
  bool scores_pairs() const;
  double pair_score(double logit) const;

  // Errors of settings, texts and engines come at once (H3415 and others). Later results come on
  // the model's thread. A piece is text that can no longer change; beams give all of it at the end.
  using OnPiece = std::function<void(size_t sequence, const std::string& text)>;
  using OnDone = std::function<void(Result<TextAnswer>)>;
  Result<uint64_t> ask(TextQuery query, OnPiece on_piece, OnDone on_done) {
    return ask_(std::move(query), std::move(on_piece), std::move(on_done));
  }
  void cancel(uint64_t ticket);
  // Ends every request with H3412. Later ones are refused with it.
  void stop() { engine_->stop(); }
  // Stops, and waits for the running step; no callback runs afterwards. May be called repeatedly,
  // from any thread except the model's.
  void join() { engine_->join(); }

 private:
  class Pieces;
  struct Settings;
  struct Question;
  ServedModel() = default;
  static void unload(ServedModel* m);
  Status open(const std::string& source, const ServedOptions& options);
  Status load_text(const ServedOptions& options);
  EngineOptions engine_options(const ServedOptions& options);
  Status load_rows(const ServedOptions& options);
  Status load_images(const ServedOptions& options);
  Result<std::shared_ptr<const Settings>> read_settings(const TextQuery& query);
  Status read_form(GenerationConfig& config, const AnswerForm& form);
  std::shared_ptr<const TokenTrie> token_trie();
  Result<Prompt> prompt_of(TextQuery& query, const Settings& settings) const;
  Status check_bytes(const TextQuery& query) const;  // H2503
  Result<uint64_t> ask_text(TextEngine& engine, TextQuery query, OnPiece on_piece, OnDone on_done);
  Result<uint64_t> ask_rows(RowEngine& engine, TextQuery query, OnDone on_done);
  Result<uint64_t> ask_entities(RowEngine& engine, TextQuery query, OnDone on_done);
  Result<uint64_t> ask_answer(RowEngine& engine, TextQuery query, OnDone on_done);
  RowJob part_of(const std::shared_ptr<Question>& question, size_t i, const TextQuery& query);
  AnswerRules answer_rules() const;
  Result<uint64_t> ask_images(ImageEngine& engine, const TextQuery& query, OnDone on_done);
  std::vector<std::vector<Scored>> best_of(std::span<const float> logits, int64_t count) const;

  std::string name_, version_, prefix_, deployed_id_;
  ServedTask task_ = ServedTask::generation;
  Pretrained model_;
  double loaded_at_ = 0;
  int64_t longest_ = 0;
  int64_t source_tokens_ = 0;  // longer sources are cut, as in training; 0: they are refused
  int32_t mask_ = -1;
  bool sigmoid_score_ = true;             // of a model that scores pairs
  std::unique_ptr<ServedImages> images_;  // of a classifier of images
  std::vector<std::string> label_names_;  // of the classes of images and tokens
  std::optional<Result<ChatTemplate>> chat_, tool_chat_;
  GenerationConfig defaults_;
  std::mutex settings_mutex_;
  std::weak_ptr<const Settings> last_settings_;
  std::once_flag trie_once_;
  std::shared_ptr<const TokenTrie> trie_;  // once a request needs it
  std::unique_ptr<Backend> backend_;
  Clock* clock_ = &system_clock();
  std::optional<ModelLatencies> latencies_;
  ModelStatistics statistics_;
  std::unique_ptr<Engine> engine_;
  std::function<Result<uint64_t>(TextQuery, OnPiece, OnDone)> ask_;  // by the kind of engine_
  std::mutex questions_mutex_;
  std::map<uint64_t, std::vector<uint64_t>>
      questions_;  // tickets of all parts by that of the first
};

// Waits until all unreferenced models are destroyed. Call before exit.
void wait_for_unloads();

}  // namespace hone
