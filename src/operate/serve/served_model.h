// A loaded model that answers requests of any thread. Its inputs are texts or images. Its answers are generated texts,
// labels, words for a mask, entities in a text, answers from a context, or embeddings.
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
  // The key of task_specific_params in config.json to apply: "summarization"; "": none.
  std::string task = "";
  // The text to put before each input text, such as "summarize: "; nullopt: the prefix that the model was trained with.
  std::optional<std::string> prefix = {};
  std::string deployed_id = "";  // DeployedModel::id (operate/registry/registry.h); "": none
  std::string device = "cpu";
  int64_t threads = 0;      // threads of the CPU backend; 0: ThreadPool::default_size()
  int64_t batch_size = 32;  // limit for sequences in one run of the model
  // Limit for the tokens of a sequence, at most the model's number of positions. 0: a default. For text generation it
  // is 2048; for encoder-decoders it is larger if the training's max_source_length was. For text classifiers it is the
  // training's max_seq_length, else 512; for answers from a context the training's max_seq_length, else 384; for
  // embedding models the length in the model's folder; for others 512.
  int64_t max_length = 0;
  int64_t cache_bytes = 0;  // limit for the KV cache; 0: a quarter of the device's usable memory
  WeightStorage weights = WeightStorage::f32;
  EngineOptions engine = {};
  Metrics* metrics = nullptr;  // receives the latencies; must outlive the model; null: none
  OpenOptions open = {};
  // Called between the steps of loading and before each weight. If it returns true, the load ends with H3412. Null:
  // loading is never cancelled.
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
// The task of models with this head (the output layers of a model); nullopt: models with this head cannot be served.
std::optional<ServedTask> served_task(Head head);
bool writes_text(ServedTask task);  // whether the task is generation or text2text
// The name of Transformers' pipeline for the task: "text-generation".
std::string name_of(ServedTask task);

// The form of generated answers, and the log probabilities to return with them.
struct AnswerForm {
  // top_logprobs and prompt_logprobs mean the same as in GenerationConfig.
  std::optional<int64_t> top_logprobs = {};
  bool prompt_logprobs = false;
  std::shared_ptr<const Automaton> language = {};  // accepts the allowed answers; null: any text
};

// One text of a request.
struct TextQuery {
  std::string text;
  std::optional<std::string> pair = {};  // the second text of a pair; the context of a question
  // Token ids to use instead of `text`; empty: `text` is tokenized.
  std::vector<int32_t> tokens = {};
  // Bytes of an image file, for image classification, instead of `text`.
  std::string image = {};
  // The settings of the request, which all its queries share. For models that write texts: keys of
  // generation_config.json. For entities: the keys of entity_rules(). For answers from a context: "top_k",
  // "max_answer_len" and "handle_impossible_answer". For other tasks: "top_k", the number of labels or words to return.
  // Null: the defaults.
  std::shared_ptr<const Json> settings = {};
  // For models that write texts: the form of the answer, which all queries of a request share. Ignored if `settings` is
  // null or empty.
  std::shared_ptr<const AnswerForm> form = {};
  // Called with the log probability of each new token if `form` asks for it: on the model's thread, before OnPiece gets
  // the text that the token completes. With beam search, called when the answer is complete. Null: not called.
  std::function<void(size_t sequence, const TokenLogprobs& logprobs)> on_token = {};
  bool special_tokens = true;  // add the tokenizer's special tokens around a text
  Deadline deadline = kNoDeadline;
  // True: another query of the same request came before this one. The limit for waiting jobs then does not apply.
  bool follows = false;
};
// A generated text.
struct Written {
  std::string text;
  std::vector<int32_t> tokens;  // the new tokens
  // What ended the text. true: an end token, a stop string or the form; false: the length limit.
  bool ended = false;
  double score = 0;  // with beam search the score of the beam (Generated::score), else 0
  std::vector<TokenLogprobs> logprobs = {};  // one for each of `tokens`, if the form asks for them
};
// A label of a classifier, or a word for a mask.
struct Scored {
  std::string label;
  double score = 0;    // the probability; the logit if the model has only one label
  int32_t token = -1;  // the word's token id for fill_mask; -1 for other tasks
};
// A part of a context that answers a question.
struct Extracted {
  std::string text;           // "": the context has no answer
  double score = 0;           // probability among the candidates that were compared
  size_t begin = 0, end = 0;  // its range in the context: characters (code points) [begin, end)
};
struct TextAnswer {
  int64_t prompt_tokens = 0, new_tokens = 0;
  std::vector<Written> texts;  // generation and text2text: the returned sequences
  // Tokens of the prompt, if AnswerForm asks for their log probabilities.
  std::vector<int32_t> prompt;
  std::vector<TokenLogprobs> prompt_logprobs;  // one for each token of `prompt` after the first
  // Lists, each with the best element first. Masked language models: a list of words for each mask. Classifiers: one
  // list of labels.
  std::vector<std::vector<Scored>> labels;
  std::vector<float> embedding;  // embedding
  std::vector<Entity> entities;  // token_classification
  // question_answering: at most "top_k" answers, the chosen answer first.
  std::vector<Extracted> answers;
};

class ServedModel : public std::enable_shared_from_this<ServedModel> {
 public:
  // Loads the model at `source`, a folder, file, URL or hub name, and starts its thread. Errors: H3401 this kind of
  // model cannot be served, or cannot be served with these options; H3402 `options.prefix` is set, but the model takes
  // no prefix; H3412 `options.cancelled` returned true; those of models and devices.
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
  // The delimiter that joined the texts of trained_columns() into one text in training; nullopt: they were not joined,
  // and two columns are a pair of texts.
  std::optional<std::string> trained_delimiter() const;
  // Whether the model is a classifier that needs pairs of texts, because it was trained on pairs.
  bool reads_pairs() const {
    return task_ == ServedTask::classification && trained_columns().size() == 2 &&
           !trained_delimiter();
  }
  // Whether prompts should be given to the model as chats: it has a chat template, and was not trained on plain texts.
  bool knows_chats() const;
  // The task of the model's training, such as "sft"; "": unknown.
  const std::string& trained_on() const { return model_.trained.task; }
  double loaded_at() const { return loaded_at_; }  // seconds since 1970
  EngineLoad load() const { return engine_->load(); }
  ModelStatistics& statistics() { return statistics_; }
  const ModelStatistics& statistics() const { return statistics_; }
  const Clock& clock() const { return *clock_; }
  // If `tools` is true: the model's template for chats with tools if it has one. Else its usual chat template. The
  // pointer is valid as long as the model lives. Errors: H3415 the model has no chat template; H2911, H2913 the
  // template cannot be parsed.
  Result<const ChatTemplate*> chat_template(bool tools) const;
  int64_t longest() const { return longest_; }  // limit for the tokens of a sequence
  // The number of values in an embedding; 0: the model gives no embeddings.
  int64_t embedding_width() const;
  // Whether the model is a reranker: a classifier with one output, which scores a pair of texts.
  bool scores_pairs() const;
  // A reranker's score for an output: sigmoid(logit) or the logit, by the configuration in the model's folder.
  double pair_score(double logit) const;

  // Queues a query and returns its ticket for cancel(). Errors of settings, texts and the queue (H3415 and others) are
  // returned at once; then no callback is called. `on_done` gets the result or a later error: it is called once, on the
  // model's thread. `on_piece` gets pieces of text that can no longer change; with beam search it gets each sequence as
  // one piece at the end. Models that do not write texts never call it. `on_piece` may be null.
  using OnPiece = std::function<void(size_t sequence, const std::string& text)>;
  using OnDone = std::function<void(Result<TextAnswer>)>;
  Result<uint64_t> ask(TextQuery query, OnPiece on_piece, OnDone on_done) {
    return ask_(std::move(query), std::move(on_piece), std::move(on_done));
  }
  void cancel(uint64_t ticket);  // cancels a query; see Engine::cancel()
  // Ends every request with H3412. Later requests are refused with H3412.
  void stop() { engine_->stop(); }
  // Calls stop(), and waits until the running step has ended: no callback runs afterwards. May be called
  // repeatedly, from any thread except the model's.
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
      questions_;  // ticket of a question's first part -> tickets of all its parts
};

// Waits until all models to which no reference is left are destroyed. Other threads destroy them. Call this before the
// program ends.
void wait_for_unloads();

}  // namespace hone
