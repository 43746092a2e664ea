// hone embed: rows of text in, an embedding out for each, in order.
#include <cmath>

#include "base/core/clock.h"
#include "base/core/log.h"
#include "base/settings/errors.h"
#include "engine/backends/backends.h"
#include "learn/embed/embedder.h"
#include "learn/embed/vectors_file.h"
#include "learn/files/text_input.h"
#include "learn/files/text_parser.h"
#include "learn/harness/encode.h"
#include "learn/pretrained/sentence_modules.h"
#include "learn/pretrained/stored.h"
#include "run/commands/command.h"
#include "run/commands/in_flags.h"

namespace hone {
namespace {

struct EmbedSettings {
#define HONE_SETTINGS "run/commands/embed.def"
#include "base/settings/fields.inc"
};

Result<std::string> output_format(const EmbedSettings& s) {
  if (s.output == "-") {
    if (s.format.empty() || s.format == "jsonl") return std::string("jsonl");
    return Error(err::kSettingConflict,
                 fmt::format("{} is not written to standard output", s.format))
        .at("--format")
        .todo("name a file with --output");
  }
  const std::string format = s.format.empty() ? vector_format_of(s.output) : s.format;
  if (!format.empty()) return format;
  return Error(err::kSettingRequired, fmt::format("'{}' has no known extension", s.output))
      .at("--output")
      .todo("end the name in .npy, .jsonl or .safetensors, or give --format");
}

Result<SentenceModules> modules_for(const EmbedSettings& s, const Pretrained& model) {
  SentenceModules modules = HONE_TRY(read_sentence_modules(model.path)).value_or(SentenceModules());
  for (const std::string& mode : s.pooling_mode) {
    const auto& known = pooling_modes();
    if (std::find(known.begin(), known.end(), mode) == known.end())
      return Error(err::kSettingChoice, fmt::format("there is no pooling '{}'", mode))
          .at("--pooling_mode");
  }
  if (!s.pooling_mode.empty()) modules.form.pooling = s.pooling_mode;
  if (s.normalize_embeddings) modules.form.normalize = *s.normalize_embeddings;
  if (s.max_seq_length > 0) modules.max_seq_length = s.max_seq_length;
  return modules;
}

// The token ids of all texts.
Result<std::vector<std::vector<int32_t>>> read_rows(const EmbedSettings& s, const Pretrained& model,
                                                    const std::string& prompt, ThreadPool& pool) {
  const TextInputOptions from{
      .file = s.input, .column = s.text_column_name, .column_names = s.column_names};
  const auto input = HONE_TRY(open_text_input(from));
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  TextParser parser;
  TextItem item;
  std::vector<std::vector<int32_t>> rows;
  constexpr size_t kTogether = 4096;
  std::vector<std::string> texts;
  const auto encode = [&]() -> Status {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    const size_t first = rows.size();
    rows.resize(first + texts.size());
    HONE_TRY(encode_texts(tokenizer, pool, model.config.embedding->longest, views, {},
                          [&](size_t i, const Encoding& e) { rows[first + i] = e.ids; }));
    texts.clear();
    return Ok{};
  };
  while (HONE_TRY(input->next(item))) {
    const TextParser::Texts read = HONE_TRY(parser.parse(item, from));
    texts.push_back(prompt + std::string(read.text));
    if (texts.size() == kTogether) HONE_TRY(encode());
  }
  HONE_TRY(encode());
  return rows;
}

// The first numbers of each row.
std::vector<float> first_numbers(std::span<const float> values, int64_t width, int64_t kept) {
  std::vector<float> out;
  for (int64_t at = 0; at + width <= std::ssize(values); at += width) {
    const auto row = values.subspan(static_cast<size_t>(at), static_cast<size_t>(kept));
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

Status write_output(const EmbedSettings& s, const std::string& format,
                    std::span<const float> values, int64_t width) {
  if (s.output != "-") return write_vectors(s.output, format, values, width);
  for (int64_t at = 0; at + width <= std::ssize(values); at += width)
    print_out(vector_line(values.subspan(static_cast<size_t>(at), static_cast<size_t>(width))));
  return Ok{};
}

Result<int> embed(const EmbedSettings& s) {
  const std::string format = HONE_TRY(output_format(s));
  const auto backend = HONE_TRY(open_device(s.device, {.threads = static_cast<int>(s.threads)}));
  OpenOptions options = open_options(s);
  const std::optional<WeightStorage> storage = asked_storage(s);
  if (!storage && !backend->spec().own_memory) options.quantization = as_stored();
  Pretrained model = HONE_TRY(open_pretrained(s.model_name_or_path, options));
  const SentenceModules modules = HONE_TRY(modules_for(s, model));
  HONE_TRY(embed_with(model, modules));
  const std::string prompt = s.prompt.empty() ? HONE_TRY(modules.prompt(s.prompt_name)) : s.prompt;
  const EmbedLimits limits{
      .tokens = s.batch_tokens,
      .texts = s.batch_size,
      .weights = storage.value_or(backend->spec().own_memory ? WeightStorage::f32
                                                             : storage_in_file(*model.weights))};
  const auto embedder = HONE_TRY(TextEmbedder::make(model, *backend, limits));
  const int64_t width = embedder->width();
  const int64_t kept = s.truncate_dim > 0 ? s.truncate_dim : width;
  if (kept > width)
    return Error(err::kSettingBounds, fmt::format("embeddings have {} numbers", width))
        .at(fmt::format("--truncate_dim {}", s.truncate_dim));
  const auto rows = HONE_TRY(read_rows(s, model, prompt, backend->device().pool()));
  std::vector<float> values(rows.size() * static_cast<size_t>(width));
  const double begin = system_clock().seconds();
  Progress bar("embedding", std::ssize(rows));
  HONE_TRY(embedder->embed(rows, values, [&](int64_t done) { bar.update(done, ""); }));
  bar.finish();
  const double seconds = system_clock().seconds() - begin;
  if (kept < width) values = first_numbers(values, width, kept);
  HONE_TRY(write_output(s, format, values, kept));
  if (s.output != "-")
    log_info("{:<11} {} texts, {} numbers each: {} ({:.1f} texts a second)", "embedded",
             rows.size(), kept, s.output,
             static_cast<double>(rows.size()) / std::max(seconds, 1e-9));
  return kExitDone;
}

Result<int> run_embed(const std::vector<std::string>& args) {
  EmbedSettings s;
  Schema schema("hone embed", "turn rows of text into embeddings");
  s.bind(schema);
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  return in_flags(schema, embed(s));
}

}  // namespace

Command command_embed() {
  return {.name = "embed",
          .summary = "turn rows of text into embeddings",
          .in = CommandGroup::kUse,
          .run = run_embed};
}

}  // namespace hone
