#include "learn/checkpoint/gguf/gguf_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "engine/ops/block_schemes.h"
#include "learn/checkpoint/gguf/errors.h"
#include "learn/checkpoint/safetensors/convert.h"
#include "learn/checkpoint/safetensors/errors.h"

namespace hone {
namespace {

constexpr int64_t kChunk = int64_t{4} << 20;
constexpr int64_t kBand = 16;  // rows transposed together: one cache line of f32 per column

// The conversion of a tensor of the file into Transformers' tensor.
struct Source {
  const GgmlFormat* format;
  int64_t rows, cols;  // as in the file
  GgufRowOrder order = {};
  GgufRowOrder across = {};          // of columns
  bool is_rate = false;              // the file has -exp(w)
  bool transpose = false;            // GPT-2 keeps linear weights [in, out], ggml [out, in]
  bool plus_one = false;             // the file has 1 + w; a vector
  int64_t zero_rows = 0;             // rows before those of the file
  std::optional<float> number = {};  // the weight itself, from the file's metadata
  // The weight's rows are in two tensors: their places, and their runs. -1: not found yet.
  std::vector<GgufRun> runs = {};
  int64_t tensors[2] = {-1, -1};  // by GgufRun::of_gates
  const GgmlFormat* formats[2] = {nullptr, nullptr};
  // The weight is in tensors of E stacks of F rows of C elements: places of the parts, -1: not found yet. Element
  // [e,c,f * parts + p] of the weight is [e,f,c] of part p.
  std::vector<int64_t> parts = {};
  int64_t stacks = 1;
};

// The engine's scheme for blocks of the format; "": it has none.
std::string scheme_of(const GgmlFormat& format) {
  for (const BlockScheme& s : block_schemes())
    if (s.scales_inside() && ggml_format(s.name) == &format) return s.name;
  return "";
}

// Matrices of experts may be kept in blocks too: [E,out,in] as [E*out,in].
bool is_of_experts(const std::string& name) { return name.find(".experts.") != name.npos; }

// The layout without the names of other files.
GgufLayout layout_for(GgufLayout layout, const GgufFile& gguf) {
  const auto other = [&](const GgufName& name) {
    return !name.beside.empty() && !gguf.has_tensor(name.beside);
  };
  std::erase_if(layout.of_layer, other);
  for (GgufStack& stack : layout.stacks) std::erase_if(stack.names, other);
  return layout;
}

class GgufSource final : public WeightSource {
 public:
  explicit GgufSource(std::unique_ptr<ByteFile> file) : file_(std::move(file)) {}

  Status open(const GgufFile& gguf) {
    if (gguf.tensors.empty())
      return Error(err::kNoWeights,
                   fmt::format("'{}' holds a vocabulary and no weights", file_->path()))
          .todo("name the file of the model itself");
    const Json config = HONE_TRY(gguf_config(gguf, *file_));
    const GgufModelType found = HONE_TRY(type_in(gguf, file_->path()));
    const GgufLayout layout = layout_for(*found.type->gguf, gguf);
    const GgufHeads of = heads_of(layout, [&](const std::string& key) {
      const auto found = config.find(key);
      const bool there = found != config.end() && found->is_number_integer();
      return there ? found->get<int64_t>() : int64_t{0};
    });
    if (!layout.after_padding.empty()) padding_rows_ = config["pad_token_id"].get<int64_t>() + 1;
    for (const GgufTensor& t : gguf.tensors) {
      if (is_of_rotation(t.name)) continue;
      if (const auto [rows, layer] = state_rows_in(layout, t.name, true); rows != nullptr)
        HONE_TRY(take_state_rows(t, layout, *rows, layer, of));
      else if (const GgufPart* part = part_of_file(layout, t.name))
        HONE_TRY(take_part(t, layout, *part, of));
      else
        HONE_TRY(take(t, layout, of));
    }
    HONE_TRY(take_lists(gguf, layout, config));
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (const Source& s = sources_[i];
          std::count(s.parts.begin(), s.parts.end(), -1) > 0 ||
          (!s.runs.empty() && std::min(s.tensors[0], s.tensors[1]) < 0))
        return Error(err::kGgufDamaged,
                     fmt::format("'{}': '{}' is not whole", file_->path(), tensors_[i].name))
            .todo("convert the model again");
    return Ok{};
  }

 protected:
  Status read_tensor(size_t index, DType as, std::span<std::byte> out) const override {
    const TensorInfo& t = tensors_[index];
    const Source& s = sources_[index];
    if (s.number) {
      convert(Stored::f32, reinterpret_cast<const std::byte*>(&*s.number), as, out.data(), 1);
      return Ok{};
    }
    if (s.plus_one) return read_less_one(t, s, as, out);
    if (t.scheme.empty() && as == t.type.dtype && s.order.same() && s.across.same() &&
        !s.transpose && s.parts.empty() && s.runs.empty() && s.zero_rows == 0)
      return file_->read_at(t.offset, out);
    if (!is_float(as))
      return Error(err::kTensorConversion,
                   fmt::format("tensor '{}' of '{}' is {} and cannot become {}", t.name, t.file,
                               s.format->name, name_of(as)));
    if (!s.runs.empty()) return read_runs(s, as, out);
    if (!s.parts.empty()) return read_parts(s, as, out);
    const int64_t zeros = s.zero_rows * s.cols * size_of(as);
    std::memset(out.data(), 0, static_cast<size_t>(zeros));
    return read_rows(t, s, as, out.subspan(static_cast<size_t>(zeros)));
  }

  // The rows of the file.
  Status read_rows(const TensorInfo& t, const Source& s, DType as, std::span<std::byte> out) const {
    const int64_t row_bytes = s.cols / s.format->block * s.format->bytes;
    const int64_t width = size_of(as);
    int64_t step = std::clamp<int64_t>(kChunk / std::max<int64_t>(row_bytes, 1), 1,
                                       std::max<int64_t>(s.rows, 1));
    if (s.transpose) step = std::max(kBand, step / kBand * kBand);
    std::vector<std::byte> chunk(static_cast<size_t>(std::min(step, s.rows) * row_bytes));
    std::vector<float> row(static_cast<size_t>(s.cols));
    std::vector<std::byte> band(s.transpose ? static_cast<size_t>(kBand * s.cols * width) : 0);
    const bool in_place =
        as == DType::f32 && reinterpret_cast<uintptr_t>(out.data()) % alignof(float) == 0;
    for (int64_t r0 = 0; r0 < s.rows; r0 += step) {
      const int64_t n = std::min(step, s.rows - r0);
      HONE_TRY(file_->read_at(t.offset + r0 * row_bytes,
                              std::span(chunk).first(static_cast<size_t>(n * row_bytes))));
      for (int64_t i = 0; i < n; ++i) {
        std::byte* to = s.transpose ? band.data() + i % kBand * s.cols * width
                                    : out.data() + s.order.hf_row(r0 + i) * s.cols * width;
        float* values = in_place && !s.transpose ? reinterpret_cast<float*>(to) : row.data();
        s.format->decode(chunk.data() + i * row_bytes, s.cols / s.format->block, values);
        if (!s.across.same()) reorder_columns(s.across, std::span(values, row.size()));
        if (values == row.data())
          convert(Stored::f32, reinterpret_cast<const std::byte*>(values), as, to, s.cols);
        if (s.transpose && (i % kBand == kBand - 1 || i == n - 1))
          turn(band.data(), i % kBand + 1, s, width, out.data() + (r0 + i - i % kBand) * width);
      }
    }
    return Ok{};
  }

  // Whole rows, in the order of the file where no head has its rows in another.
  Status read_blocks_of(size_t index, std::string_view part, int64_t first,
                        std::span<std::byte> out) const override {
    const TensorInfo& t = tensors_[index];
    const Source& s = sources_[index];
    const int64_t row_bytes = s.cols / s.format->block * s.format->bytes;
    const auto bytes = static_cast<int64_t>(out.size());
    HONE_BUG_IF(t.blocks.empty() || !part.empty() || first < 0 || first % row_bytes != 0 ||
                    bytes % row_bytes != 0 || first + bytes > t.bytes,
                "'{}': bytes [{}, +{}) of part '{}'", t.name, first, bytes, part);
    if (!s.parts.empty()) return read_blocks_of_parts(s, row_bytes, first, out);
    if (s.order.same()) return file_->read_at(t.offset + first, out);
    for (int64_t at = 0; at < bytes; at += row_bytes) {
      const int64_t row = s.order.gguf_row((first + at) / row_bytes);
      HONE_TRY(
          file_->read_at(t.offset + row * row_bytes,
                         out.subspan(static_cast<size_t>(at), static_cast<size_t>(row_bytes))));
    }
    return Ok{};
  }

 private:
  // Row r of the weight's [E*F*parts,C] is row r / parts of part r % parts of its stack.
  Status read_blocks_of_parts(const Source& s, int64_t row_bytes, int64_t first,
                              std::span<std::byte> out) const {
    const int64_t parts = std::ssize(s.parts), each = s.rows * parts;
    const int64_t end = (first + std::ssize(out)) / row_bytes;
    std::vector<std::byte> rows;
    for (int64_t r = first / row_bytes; r < end;) {
      const int64_t stack = r / each, stop = std::min(end, (stack + 1) * each);
      for (int64_t p = 0; p < parts; ++p) {
        const int64_t from = (r - p + parts - 1) / parts, to = (stop - p + parts - 1) / parts;
        rows.resize(static_cast<size_t>((to - from) * row_bytes));
        HONE_TRY(file_->read_at(s.parts[static_cast<size_t>(p)] + from * row_bytes, rows));
        for (int64_t i = from; i < to; ++i)
          std::copy_n(rows.begin() + (i - from) * row_bytes, row_bytes,
                      out.begin() + (i * parts + p) * row_bytes - first);
      }
      r = stop;
    }
    return Ok{};
  }

  Status read_less_one(const TensorInfo& t, const Source& s, DType as,
                       std::span<std::byte> out) const {
    std::vector<std::byte> kept(static_cast<size_t>(t.bytes));
    std::vector<float> values(static_cast<size_t>(t.type.count()));
    HONE_TRY(file_->read_at(t.offset, kept));
    s.format->decode(kept.data(), t.type.count() / s.format->block, values.data());
    for (float& v : values) v -= 1;
    convert(Stored::f32, reinterpret_cast<const std::byte*>(values.data()), as, out.data(),
            t.type.count());
    return Ok{};
  }

  // A row of the file in Transformers' order.
  static void reorder_columns(const GgufRowOrder& order, std::span<float> row) {
    const std::vector<float> file(row.begin(), row.end());
    for (size_t i = 0; i < file.size(); ++i)
      row[static_cast<size_t>(order.hf_row(static_cast<int64_t>(i)))] = file[i];
  }

  Status read_runs(const Source& s, DType as, std::span<std::byte> out) const {
    std::vector<std::byte> kept;
    std::vector<float> values;
    for (const GgufRun& run : s.runs) {
      const GgmlFormat& format = *s.formats[run.of_gates];
      const int64_t row_bytes = s.cols / format.block * format.bytes, count = run.count * s.cols;
      kept.resize(static_cast<size_t>(run.count * row_bytes));
      values.resize(static_cast<size_t>(count));
      HONE_TRY(file_->read_at(s.tensors[run.of_gates] + run.tensor_row * row_bytes, kept));
      format.decode(kept.data(), count / format.block, values.data());
      convert(Stored::f32, reinterpret_cast<const std::byte*>(values.data()), as,
              out.data() + run.weight_row * s.cols * size_of(as), count);
    }
    return Ok{};
  }

  Status read_parts(const Source& s, DType as, std::span<std::byte> out) const {
    const int64_t each = s.rows * s.cols, count = std::ssize(s.parts), width = size_of(as);
    const int64_t bytes = each / s.format->block * s.format->bytes;
    std::vector<std::byte> kept(static_cast<size_t>(bytes));
    std::vector<float> file(static_cast<size_t>(each)), stack(static_cast<size_t>(each * count));
    for (int64_t e = 0; e < s.stacks; ++e) {
      for (int64_t p = 0; p < count; ++p) {
        HONE_TRY(file_->read_at(s.parts[static_cast<size_t>(p)] + e * bytes, kept));
        s.format->decode(kept.data(), each / s.format->block, file.data());
        for (int64_t f = 0; f < s.rows; ++f)
          for (int64_t c = 0; c < s.cols; ++c)
            stack[static_cast<size_t>((c * s.rows + s.order.hf_row(f)) * count + p)] =
                file[static_cast<size_t>(f * s.cols + c)];
      }
      if (s.is_rate)
        for (float& x : stack) x = std::log(-x);
      convert(Stored::f32, reinterpret_cast<const std::byte*>(stack.data()), as,
              out.data() + e * each * count * width, each * count);
    }
    return Ok{};
  }

  // Columns of `n` rows, side by side, into the transposed matrix.
  static void turn(const std::byte* band, int64_t n, const Source& s, int64_t width,
                   std::byte* out) {
    for (int64_t c = 0; c < s.cols; ++c)
      for (int64_t k = 0; k < n; ++k)
        std::memcpy(out + (c * s.rows + k) * width, band + (k * s.cols + c) * width,
                    static_cast<size_t>(width));
  }

  Error unsupported(const GgufTensor& t, std::string what) const {
    return Error(err::kGgufUnsupported,
                 fmt::format("'{}': tensor '{}' {}", file_->path(), t.name, what));
  }

  Result<TensorInfo> info_of(const GgufTensor& t, std::string name, Shape shape) {
    if (t.format->decode == nullptr)
      return std::move(
          unsupported(t, fmt::format("is kept as {}", t.format->name))
              .todo("use a file in F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, MXFP4 or Q2_K "
                    "to Q6_K"));
    TensorInfo info;
    info.name = std::move(name);
    info.type.shape = std::move(shape);
    info.type.dtype = t.format->name == "F16"    ? DType::f16
                      : t.format->name == "BF16" ? DType::bf16
                                                 : DType::f32;
    if (t.format->block > 1) info.scheme = t.format->name;
    info.file = file_->path();
    info.offset = t.offset;
    info.bytes = t.bytes;
    return info;
  }

  Status take(const GgufTensor& t, const GgufLayout& layout, const GgufHeads& of) {
    std::string name = hf_name_of(layout, t.name);
    if (name.empty())
      return unsupported(t, fmt::format("has no place in a {} model", layout.architecture))
          .todo("use the model's safetensors checkpoint");
    TensorInfo info = HONE_TRY(info_of(t, std::move(name), t.shape));
    // Newer converters keep the axis of a shared expert's gate.
    const bool kept = t.shape.size() == 2 && t.shape[0] == 1;
    if (const int64_t axis = left_out_axis(layout, info.name); axis > 0 || (axis == 0 && !kept)) {
      if (axis > std::ssize(t.shape)) return unsupported(t, "has too few axes");
      info.type.shape.insert(info.type.shape.begin() + axis, 1);
    }
    if ((t.shape.size() == 2 && info.type.shape.size() == 2) ||
        (t.shape.size() == 3 && is_of_experts(info.name)))
      info.blocks = scheme_of(*t.format);
    Source s{t.format, 1, t.shape.empty() ? 1 : t.shape.back()};
    for (size_t i = 0; i + 1 < t.shape.size(); ++i) s.rows *= t.shape[i];
    s.order = row_order(layout, info.name, t.shape.size() == 1 ? s.cols : s.rows, of);
    if (!s.order.same()) {
      if (t.shape.size() == 1) {  // a bias: its elements are the rows
        std::swap(s.rows, s.cols);
        if (t.format->block > 1) return unsupported(t, "is a quantised bias");
      }
      if (!s.order.fits())
        return unsupported(t, fmt::format("has {} rows, which {} heads do not share evenly", s.rows,
                                          s.order.queries));
    }
    s.across = column_order(layout, info.name, s.cols, of);
    if (!s.across.fits())
      return unsupported(t, fmt::format("has {} columns, which {} heads do not share evenly",
                                        s.cols, s.across.queries));
    if (!s.across.same()) info.blocks.clear();
    if (info.name == layout.after_padding) {
      if (t.shape.size() != 2) return unsupported(t, "is not a matrix");
      s.zero_rows = padding_rows_;
      info.type.shape[0] += s.zero_rows;
      info.scheme = t.format->name;  // its bytes are not those of the weight
      info.blocks.clear();
    }
    if (is_plus_one(layout, info.name)) {
      if (t.shape.size() != 1) return unsupported(t, "is not a vector");
      s.plus_one = true;
    }
    if (is_turned(layout, info.name)) {
      if (t.shape.size() != 2) return unsupported(t, "is not a matrix");
      s.transpose = true;
      std::swap(info.type.shape[0], info.type.shape[1]);
    }
    add(std::move(info));
    sources_.push_back(std::move(s));
    return Ok{};
  }

  // One of the two tensors that hold the rows of a weight.
  Status take_state_rows(const GgufTensor& t, const GgufLayout& layout, const GgufStateRows& rows,
                         int64_t layer, const GgufHeads& of) {
    const bool gates = t.name.ends_with("." + rows.gates);
    const std::vector<GgufRun> runs = runs_of_state(of);
    if (t.shape.size() != 2 || runs.empty() || t.shape[0] != rows_of_runs(runs, gates))
      return unsupported(t, fmt::format("has not {} rows", rows_of_runs(runs, gates)));
    const std::string name = fmt::format("{}{}.{}", layout.layers, layer, rows.weight);
    TensorInfo info = HONE_TRY(info_of(t, name, {rows_of_runs(runs), t.shape[1]}));
    info.scheme = t.format->name;  // its bytes are not those of the weight
    const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                    [&](const TensorInfo& other) { return other.name == name; });
    const auto place = static_cast<size_t>(found - tensors_.begin());
    if (found == tensors_.end()) {
      add(std::move(info));
      sources_.push_back({t.format, rows_of_runs(runs), t.shape[1]});
      sources_.back().runs = runs;
    } else if (found->type.shape != info.type.shape) {
      return unsupported(t, fmt::format("does not fit the other part of '{}'", name));
    }
    sources_[place].tensors[gates] = t.offset;
    sources_[place].formats[gates] = t.format;
    return Ok{};
  }

  // Weights of one number, from lists with a number for each layer, or one for all.
  Status take_lists(const GgufFile& gguf, const GgufLayout& layout, const Json& config) {
    const int64_t layers = layout.lists.empty() ? 0 : config.value("num_hidden_layers", int64_t{0});
    for (const GgufList& list : layout.lists) {
      const auto* many = gguf.get<std::vector<double>>(list.gguf);
      const auto* one = gguf.get<double>(list.gguf);
      if (one == nullptr && (many == nullptr || std::ssize(*many) != layers))
        return Error(err::kGgufDamaged, fmt::format("'{}': '{}' is not a list of {} numbers",
                                                    file_->path(), list.gguf, layers))
            .todo("convert the model again");
      for (int64_t i = 0; i < layers; ++i) {
        TensorInfo info;
        info.name = fmt::format("{}{}.{}", layout.layers, i, list.weight);
        info.type = {DType::f32, list.shape};
        info.file = file_->path();
        info.bytes = sizeof(float);
        Source s{ggml_format("F32"), 1, 1};
        s.number = static_cast<float>(many != nullptr ? (*many)[static_cast<size_t>(i)] : *one);
        add(std::move(info));
        sources_.push_back(std::move(s));
      }
    }
    return Ok{};
  }

  // One of the tensors that make a weight.
  Status take_part(const GgufTensor& t, const GgufLayout& layout, const GgufPart& part,
                   const GgufHeads& of) {
    const std::string name = hf_part_name(layout, part, t.name);
    const size_t rank = t.shape.size();
    if (rank < 1 || rank > 3) return unsupported(t, "has no place for its axes");
    Source s{t.format, t.shape[rank == 3 ? 1 : rank - 1], rank == 3 ? t.shape[2] : 1};
    if (rank > 1) s.stacks = t.shape[0];
    s.order = row_order(layout, name, s.rows, of);
    s.is_rate = is_rate(layout, name);
    if (!s.order.fits())
      return unsupported(t, fmt::format("has {} rows, which {} heads do not share evenly", s.rows,
                                        s.order.queries));
    Shape shape{s.rows * part.parts};
    if (rank == 3) shape.insert(shape.begin(), s.cols);
    if (rank > 1) shape.insert(shape.begin(), s.stacks);
    const auto place = static_cast<size_t>(part.part);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].name != name) continue;
      if (tensors_[i].type.shape != shape || sources_[i].format != t.format)
        return unsupported(t, fmt::format("does not fit the other part of '{}'", name));
      sources_[i].parts[place] = t.offset;
      return Ok{};
    }
    s.parts.assign(static_cast<size_t>(part.parts), -1);
    s.parts[place] = t.offset;
    TensorInfo info = HONE_TRY(info_of(t, name, std::move(shape)));
    info.scheme = t.format->name;  // its bytes are not those of the weight
    if (rank == 3 && is_of_experts(name) && s.order.same() && !s.is_rate)
      info.blocks = scheme_of(*t.format);
    info.bytes *= part.parts;
    add(std::move(info));
    sources_.push_back(std::move(s));
    return Ok{};
  }

  std::unique_ptr<ByteFile> file_;
  std::vector<Source> sources_;  // beside tensors_
  int64_t padding_rows_ = 0;     // of the table in GgufLayout::after_padding
};

}  // namespace

Result<std::unique_ptr<WeightSource>> open_gguf_weights(OpenGguf gguf) {
  auto source = std::make_unique<GgufSource>(std::move(gguf.file));
  HONE_TRY(source->open(gguf.content));
  return std::unique_ptr<WeightSource>(std::move(source));
}

Result<std::unique_ptr<WeightSource>> open_gguf_weights(std::unique_ptr<ByteFile> file) {
  GgufFile content = HONE_TRY(read_gguf(*file));
  return open_gguf_weights(OpenGguf{std::move(file), std::move(content)});
}

Result<std::unique_ptr<WeightSource>> open_gguf_weights(const std::string& path) {
  return open_gguf_weights(HONE_TRY(open_gguf(path)));
}

}  // namespace hone
