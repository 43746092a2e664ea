// libhone (hone.h): the C door to pretrained models, tokenizers and generation.
#include <cstring>
#include <mutex>

#include "base/core/json.h"
#include "base/core/log.h"
#include "base/core/version.h"
#include "base/settings/settings.h"
#include "engine/backends/backends.h"
#include "learn/generate/cache_budget.h"
#include "learn/generate/errors.h"
#include "learn/generate/prompts.h"
#include "learn/pretrained/stored.h"
#include "run/library/errors.h"
#include "run/library/hone.h"

namespace hone {
namespace {

constexpr int64_t kLongest = 2048;  // tokens of a sequence when nothing is asked for

struct LibraryOptions {
#define HONE_SETTINGS "run/library/options.def"
#include "base/settings/fields.inc"
};

thread_local std::string last_error;

// Runs f; an error, a bug or a library's exception ends in hone_error() and `failed`.
template <class T, class F>
T guarded(T failed, F&& f) {
  try {
    Result<T> r = f();
    if (r.ok()) return std::move(*r);
    last_error = r.error().text();
  } catch (const std::bad_alloc&) {
    last_error = "memory ran out";
  } catch (const std::exception& e) {
    last_error = fmt::format("this is a bug in hone {}: {}", version(), e.what());
  }
  return failed;
}

Result<LibraryOptions> read_options(const char* json) {
  LibraryOptions options;
  if (!json) return options;
  Schema schema("hone_open", "open a model");
  options.bind(schema);
  std::vector<std::string> notices;
  HONE_TRY(schema.apply_file(json, "options.json", notices));
  return options;
}

Result<GenerationConfig> read_settings(GenerationConfig config, const char* text) {
  if (text)
    HONE_TRY(apply_request_json(config, HONE_TRY(parse_json(text, "settings")), "settings"));
  return config;
}

}  // namespace
}  // namespace hone

struct hone_model {
  std::mutex busy;
  hone::Pretrained files;
  hone::GenerationConfig defaults;
  hone::CacheLimits limits;
  std::unique_ptr<hone::Backend> backend;
  std::unique_ptr<hone::Generator> generator;
};

struct hone_batch {
  std::vector<std::vector<int32_t>> tokens;
  std::vector<std::string> texts;
};

namespace hone {
namespace {

Result<const Tokenizer*> tokenizer_of(const hone_model& model) {
  if (model.files.tokenizer) return &*model.files.tokenizer;
  return Error(err::kLibraryTokenizer, fmt::format("'{}' has no tokenizer", model.files.name))
      .todo("name one by the option tokenizer_name, or work with token ids");
}

Result<hone_model*> open_model(const char* name, const char* options_json) {
  const LibraryOptions o = HONE_TRY(read_options(options_json));
  OpenOptions open = open_options(o);
  open.need_tokenizer = false;
  open.writes_text = true;
  open.quantization = as_stored();
  auto model = std::make_unique<hone_model>();
  model->files = HONE_TRY(open_pretrained(name ? name : "", open));
  model->defaults = HONE_TRY(generation_of(model->files));
  const int64_t positions = model->files.config.max_positions;
  const int64_t tokens = std::min(o.max_length > 0 ? o.max_length : kLongest, positions);
  CacheLimits wanted{.rows = o.batch_size, .tokens = tokens, .longest_prompt = tokens};
  wanted.weights = storage_in_file(*model->files.weights);
  if (family_of(model->files.config).encoder) {
    wanted.sources = o.batch_size;
    wanted.longest_source = tokens;
  }
  model->backend = HONE_TRY(open_backend("cpu", {.threads = static_cast<int>(o.threads)}));
  const CacheBudget most{.arena_bytes = usable_bytes(model->backend->spec())};
  model->limits = HONE_TRY(fit_cache(model->files.config, wanted, most, *model->backend));
  model->generator = HONE_TRY(Generator::make(model->files, model->limits, *model->backend));
  return model.release();
}

Result<hone_batch*> generate(hone_model& model, const std::vector<PromptRow>& rows,
                             const char* settings) {
  GenerationConfig config = HONE_TRY(read_settings(model.defaults, settings));
  const ModelConfig& c = model.files.config;
  HONE_TRY(check_generation(config, c.vocab));
  const std::vector<Prompt> prompts = HONE_TRY(generator_prompts(rows, config, c));
  HONE_TRY(check_sources(prompts, c));
  HONE_TRY(check_prompts(prompts, config, c.vocab, c.max_positions));
  const CacheLimits need = limits_for(prompts, config, c, 1);
  const int64_t longest = std::max(need.tokens, need.longest_source);
  if (need.rows > model.limits.rows || longest > model.limits.tokens ||
      need.pages() > model.limits.pages())
    return Error(
               err::kLibraryLimit,
               fmt::format("{} sequences of {} tokens are alive at once, the model was opened for "
                           "{} of {}",
                           need.rows, longest, model.limits.rows, model.limits.tokens))
        .todo("open it with a larger batch_size or max_length, or ask for fewer new tokens");
  auto batch = std::make_unique<hone_batch>();
  const std::vector<Generated> all = HONE_TRY(model.generator->run(prompts, config));
  for (const Generated& g : all) {
    batch->tokens.push_back(g.tokens);
    // The output of an encoder-decoder begins a text.
    const Prompt& prompt = prompts[g.prompt];
    const std::span<const int32_t> before =
        prompt.source.empty() ? std::span(prompt.tokens) : std::span<const int32_t>();
    batch->texts.push_back(model.files.tokenizer
                               ? continuation_text(*model.files.tokenizer, before, g.tokens)
                               : std::string());
  }
  return batch.release();
}

}  // namespace
}  // namespace hone

using hone::guarded;
using hone::Result;

const char* hone_version(void) { return hone::version().data(); }

const char* hone_error(void) { return hone::last_error.c_str(); }

hone_model* hone_open(const char* name, const char* options) {
  static const bool quiet = (hone::set_log_sink([](std::string_view) {}), true);
  (void)quiet;
  return guarded<hone_model*>(nullptr, [&] { return hone::open_model(name, options); });
}

void hone_close(hone_model* model) { delete model; }

int64_t hone_tokenize(hone_model* model, const char* text, int32_t* ids, int64_t capacity) {
  return guarded<int64_t>(-1, [&]() -> Result<int64_t> {
    const hone::Tokenizer* tokenizer = HONE_TRY(hone::tokenizer_of(*model));
    const std::vector<int32_t> all = tokenizer->encode(text);
    const auto count = static_cast<int64_t>(all.size());
    std::copy_n(all.begin(), std::clamp<int64_t>(capacity, 0, count), ids);
    return count;
  });
}

int64_t hone_detokenize(hone_model* model, hone_tokens tokens, char* text, int64_t capacity) {
  return guarded<int64_t>(-1, [&]() -> Result<int64_t> {
    const hone::Tokenizer* tokenizer = HONE_TRY(hone::tokenizer_of(*model));
    const std::string all = tokenizer->decode({tokens.ids, static_cast<size_t>(tokens.count)});
    const auto length = static_cast<int64_t>(all.size());
    if (capacity > 0) {
      const int64_t n = std::min(length, capacity - 1);
      std::memcpy(text, all.data(), static_cast<size_t>(n));
      text[n] = 0;
    }
    return length;
  });
}

hone_batch* hone_generate(hone_model* model, const hone_tokens* prompts, int64_t count,
                          const char* settings) {
  return guarded<hone_batch*>(nullptr, [&] {
    std::vector<hone::PromptRow> all;
    for (int64_t i = 0; i < count; ++i)
      all.push_back({{}, {prompts[i].ids, prompts[i].ids + prompts[i].count}});
    std::lock_guard lock(model->busy);
    return hone::generate(*model, all, settings);
  });
}

hone_batch* hone_generate_text(hone_model* model, const char* const* prompts, int64_t count,
                               const char* settings) {
  return guarded<hone_batch*>(nullptr, [&]() -> Result<hone_batch*> {
    const hone::Tokenizer* tokenizer = HONE_TRY(hone::tokenizer_of(*model));
    std::vector<hone::PromptRow> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back({prompts[i], {}});
    hone::encode_prompts(rows, *tokenizer, {}, model->defaults.bos_token_id);
    std::lock_guard lock(model->busy);
    return hone::generate(*model, rows, settings);
  });
}

int64_t hone_batch_size(const hone_batch* batch) {
  return static_cast<int64_t>(batch->tokens.size());
}

hone_tokens hone_batch_tokens(const hone_batch* batch, int64_t index) {
  if (index < 0 || index >= hone_batch_size(batch)) return {nullptr, 0};
  const std::vector<int32_t>& ids = batch->tokens[static_cast<size_t>(index)];
  return {ids.data(), static_cast<int64_t>(ids.size())};
}

const char* hone_batch_text(const hone_batch* batch, int64_t index) {
  if (index < 0 || index >= hone_batch_size(batch)) return nullptr;
  return batch->texts[static_cast<size_t>(index)].c_str();
}

void hone_batch_free(hone_batch* batch) { delete batch; }
