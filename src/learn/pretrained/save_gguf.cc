// A model as one GGUF file with the keys, names and element formats of llama.cpp's converter.
#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/gguf/gguf_weights.h"
#include "learn/checkpoint/gguf/gguf_writer.h"
#include "learn/pretrained/gguf_metadata.h"
#include "learn/pretrained/weights.h"

namespace hone {
namespace {

struct FileType {
  const char* name;  // of --outtype
  const char* format;
  int64_t number;  // general.file_type
};
constexpr FileType kFileTypes[] = {
    {"f32", "F32", 0}, {"f16", "F16", 1}, {"q8_0", "Q8_0", 7}, {"bf16", "BF16", 32}};

// The name of a weight in the layout of an encoder: without the prefix of the body in a model with a head.
std::string name_in(const GgufLayout& layout, const ModelConfig& c, const std::string& name) {
  const std::string& prefix = family_of(c).body_prefix;
  const bool has_prefix = layout.head == Head::none && c.head != Head::none;
  return has_prefix && name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

// Tensors that llama.cpp's converter keeps in f32, by a part of their names.
constexpr const char* kAlwaysF32[] = {"position_embd",    "token_types",  ".ffn_gate_inp",
                                      ".shortconv.conv.", ".ssm_conv1d.", ".bias"};

// Vectors, small tables and filters stay f32; rows of broken blocks become f16.
const GgmlFormat* format_of(const std::string& name, const Shape& shape, const FileType& type) {
  const auto named = [&](const char* part) { return name.find(part) != name.npos; };
  if (shape.size() < 2 || std::any_of(std::begin(kAlwaysF32), std::end(kAlwaysF32), named))
    return ggml_format("F32");
  const GgmlFormat* wanted = ggml_format(type.format);
  return shape.back() % wanted->block == 0 ? wanted : ggml_format("F16");
}

// A tensor of the file, and the weight that it holds.
struct Written {
  std::string weight, source;      // by the family's name and the checkpoint's
  const GgufPart* part = nullptr;  // non-null: it holds a part of the weight
  int64_t left_out = 0;            // elements of the weight before those of the file
  std::vector<GgufRun> runs = {};  // not empty: rows of the weight that it holds
  int64_t elements = 0;            // of the weight, with `runs`
};

GgufHeads heads_in(const ModelConfig& c, const GgufLayout& layout) {
  GgufHeads heads =
      heads_of(layout, [&](const std::string& key) { return c.integer(key, 0).value(); });
  heads.queries = c.heads;  // config.json may leave them to other keys
  heads.keys = c.kv_heads;
  return heads;
}

// From Transformers' order of elements to ggml's; `shape` is the file's.
void reorder(const ModelConfig& c, const GgufLayout& layout, const std::string& hf_name,
             const Shape& shape, std::vector<float>& from, std::span<float> to) {
  const int64_t columns = shape.size() < 2 ? 1 : shape.back();
  const auto rows = static_cast<int64_t>(to.size()) / columns;  // of `to`
  const bool turned = is_turned(layout, hf_name);
  const GgufHeads heads = heads_in(c, layout);
  const GgufRowOrder order = row_order(layout, hf_name, rows, heads),
                     across = column_order(layout, hf_name, columns, heads);
  for (int64_t r = 0; r < rows; ++r) {
    if (turned) {
      for (int64_t i = 0; i < columns; ++i)
        to[static_cast<size_t>(r * columns + i)] = from[static_cast<size_t>(i * rows + r)];
      continue;
    }
    const auto row = from.begin() + order.hf_row(r) * columns;
    for (int64_t i = 0; i < columns; ++i)
      to[static_cast<size_t>(r * columns + i)] = row[across.hf_row(i)];
  }
}

// The shape of the part in the file: that of the weight [.., C, parts * F] turned, [.., F, C].
Shape shape_of_part(const GgufPart& part, Shape shape) {
  shape.back() /= part.parts;
  if (shape.size() == 3) std::swap(shape[1], shape[2]);
  return shape;
}

// The part of the weight `from` with the file's shape [E,F,C], [E,F] or [F].
void take_part(const GgufPart& part, const Shape& shape, const std::vector<float>& from,
               std::span<float> to) {
  const int64_t columns = shape.size() == 3 ? shape[2] : 1;
  const int64_t rows = shape.size() == 3 ? shape[1] : shape.back(), each = rows * columns;
  for (int64_t i = 0; i < std::ssize(to); ++i) {
    const int64_t stack = i / each, row = i % each / columns, column = i % columns;
    const int64_t place = (stack * columns + column) * rows + row;
    to[static_cast<size_t>(i)] = from[static_cast<size_t>(place * part.parts + part.part)];
  }
}

// The weights that the file has as lists of its metadata.
Status put_lists(const WeightSource& weights, const ModelConfig& c, const GgufLayout& layout,
                 GgufMetadata& m) {
  for (const GgufList& list : layout.lists) {
    std::vector<double> numbers(static_cast<size_t>(c.layers));
    for (const ParamSpec& spec : family_of(c).params(c)) {
      const auto [found, layer] = list_of_weight(layout, spec.name);
      if (found != &list) continue;
      float number = 0;
      const TensorInfo* t = HONE_TRY(require_weight(weights, c, spec));
      HONE_TRY(weights.read(t->name, DType::f32, std::as_writable_bytes(std::span(&number, 1))));
      numbers[static_cast<size_t>(layer)] = static_cast<double>(number);
    }
    m.emplace_back(list.gguf, std::move(numbers));
  }
  return Ok{};
}

// The tensors of the file and where they are from.
Status list_outputs(const WeightSource& weights, const ModelConfig& c, const GgufLayout& layout,
                    const FileType& type, std::vector<GgufOutput>& outputs,
                    std::vector<Written>& written) {
  for (const ParamSpec& spec : family_of(c).params(c)) {
    if (c.head == Head::none && spec.of_head) {
      if (find_weight(weights, c, spec) != nullptr)
        log_info("left out    '{}': embeddings do not read it, and llama.cpp has no place for it",
                 spec.name);
      continue;
    }
    if (list_of_weight(layout, spec.name).first != nullptr) continue;
    const TensorInfo* t = HONE_TRY(require_weight(weights, c, spec));
    const std::string weight = name_in(layout, c, spec.name);
    if (const auto [rows, layer] = state_rows_in(layout, spec.name, false); rows != nullptr) {
      for (const bool gates : {false, true}) {
        std::vector<GgufRun> runs = runs_of_state(heads_in(c, layout));
        std::erase_if(runs, [&](const GgufRun& run) { return run.of_gates != gates; });
        const std::string name =
            fmt::format("{}{}.{}", layout.block, layer, gates ? rows->gates : rows->mixed);
        const Shape shape{rows_of_runs(runs), spec.shape[1]};
        outputs.push_back({name, shape, format_of(name, shape, type)});
        written.push_back({spec.name, t->name, nullptr, 0, std::move(runs), t->type.count()});
      }
      continue;
    }
    const auto parts = parts_of_weight(layout, spec.name);
    for (const GgufPart* part : parts) {
      const std::string name = ggml_part_name(layout, *part, spec.name);
      const Shape shape = shape_of_part(*part, spec.shape);
      outputs.push_back({name, shape, format_of(name, shape, type)});
      written.push_back({spec.name, t->name, part});
    }
    if (!parts.empty()) continue;
    const std::string name = ggml_name_of(layout, weight);
    if (name.empty())
      return Error(err::kGgufUnsupported, fmt::format("'{}' has no place in a GGUF file of {}",
                                                      spec.name, layout.architecture))
          .todo("name a folder in place of the file");
    Shape shape = spec.shape;
    if (const int64_t axis = left_out_axis(layout, spec.name); axis >= 0)
      shape.erase(shape.begin() + axis);
    if (is_turned(layout, spec.name)) std::swap(shape[0], shape[1]);
    int64_t left_out = 0;
    if (weight == layout.after_padding) {
      left_out = (c.padding_token + 1) * shape[1];
      shape[0] -= c.padding_token + 1;
    }
    outputs.push_back({name, shape, format_of(name, shape, type)});
    written.push_back({weight, t->name, nullptr, left_out});
  }
  return Ok{};
}

// A line of the log if rows that the file is without hold anything.
Status report_left_out(const WeightSource& weights, const Written& w, const GgufOutput& output) {
  std::vector<float> rows(static_cast<size_t>(w.left_out));
  HONE_TRY(weights.read_range(w.source, DType::f32, 0, std::as_writable_bytes(std::span(rows))));
  if (std::any_of(rows.begin(), rows.end(), [](float x) { return x != 0; }))
    log_info("left out    the first {} rows of '{}': no token of a text reads them",
             w.left_out / output.shape.back(), w.weight);
  return Ok{};
}

}  // namespace

std::vector<std::string> gguf_outtypes() {
  std::vector<std::string> names;
  for (const FileType& type : kFileTypes) names.push_back(type.name);
  return names;
}

Status save_gguf(const std::string& path, const WeightSource& weights, const Pretrained& model,
                 const std::string& outtype) {
  const ModelConfig& c = model.config;
  const GgufLayout& layout = *HONE_TRY(gguf_layout_for(c));
  const FileType* type = std::find_if(std::begin(kFileTypes), std::end(kFileTypes),
                                      [&](const FileType& t) { return outtype == t.name; });
  HONE_BUG_IF(type == std::end(kFileTypes), "a GGUF file of {}", outtype);
  const GgufRope rope = HONE_TRY(gguf_rope(c, layout));
  GgufMetadata metadata = HONE_TRY(gguf_metadata(model, layout, rope, type->number));
  HONE_TRY(put_lists(weights, c, layout, metadata));
  std::vector<GgufOutput> outputs;
  std::vector<Written> written;  // beside them
  HONE_TRY(list_outputs(weights, c, layout, *type, outputs, written));
  std::vector<const std::vector<float>*> lists;  // after the weights
  for (const auto& [name, list] : {std::pair{kRopeFreqs, &rope.factors},
                                   {kShortFactors, &rope.shorter},
                                   {kLongFactors, &rope.longer}}) {
    if (list->empty()) continue;
    outputs.push_back({name, {static_cast<int64_t>(list->size())}, ggml_format("F32")});
    lists.push_back(list);
  }
  std::vector<float> values;
  return save_gguf(path, metadata, outputs, [&](size_t i, std::span<float> out) -> Status {
    if (i >= written.size()) {
      std::copy(lists[i - written.size()]->begin(), lists[i - written.size()]->end(), out.begin());
      return Ok{};
    }
    const Written& w = written[i];
    values.resize(out.size() * static_cast<size_t>(w.part != nullptr ? w.part->parts : 1));
    if (!w.runs.empty()) values.resize(static_cast<size_t>(w.elements));
    if (w.left_out > 0) HONE_TRY(report_left_out(weights, w, outputs[i]));
    HONE_TRY(weights.read_range(w.source, DType::f32, w.left_out,
                                std::as_writable_bytes(std::span(values))));
    if (!w.runs.empty()) {
      const int64_t columns = outputs[i].shape[1];
      for (const GgufRun& run : w.runs)
        std::copy_n(values.begin() + run.weight_row * columns, run.count * columns,
                    out.begin() + run.tensor_row * columns);
      return Ok{};
    }
    if (w.part != nullptr && outputs[i].shape.size() > 1)
      take_part(*w.part, outputs[i].shape, values, out);
    else
      reorder(c, layout, w.weight, outputs[i].shape, values, out);
    if (is_rate(layout, w.weight))
      for (float& v : out) v = -std::exp(v);
    if (is_plus_one(layout, w.weight))
      for (float& v : out) v += 1;
    return Ok{};
  });
}

}  // namespace hone
