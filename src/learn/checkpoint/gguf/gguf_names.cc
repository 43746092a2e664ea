// Names of tensors in GGUF files to the names of Hugging Face checkpoints, and the order of their rows.
#include <algorithm>
#include <charconv>
#include <optional>

#include "learn/checkpoint/gguf/gguf_weights.h"

namespace hone {
namespace {

constexpr std::string_view kBlock = "blk.";

std::string_view look_up(const std::vector<GgufName>& names, std::string_view name) {
  for (const GgufName& n : names)
    if (n.gguf == name) return n.weight;
  return {};
}
std::string_view look_back(const std::vector<GgufName>& names, std::string_view name) {
  for (const GgufName& n : names)
    if (n.weight == name) return n.gguf;
  return {};
}

// "blk.3.x" -> 3 and "x"; nullopt: the tensor is of no layer. Not "blk.03.x": a layer has one name.
std::optional<std::pair<int64_t, std::string_view>> split_layer(std::string_view name,
                                                                std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  int64_t layer = 0;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const auto digits = static_cast<size_t>(end - name.data());
  if (ec != std::errc() || digits == name.size() || *end != '.' || layer < 0 ||
      name.substr(0, digits) != std::to_string(layer))
    return std::nullopt;
  return std::pair{layer, name.substr(digits + 1)};
}

bool has_ending(const std::string& name, const std::vector<const char*>& endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](const char* end) { return name.ends_with(end); });
}

// The layers of a layout that have numbers of their own. The layout outlives them.
struct Layers {
  const std::string &gguf, &weights;  // before the number
  const std::vector<GgufName>& names;
};
std::vector<Layers> layers_of(const GgufLayout& layout) {
  std::vector<Layers> all{{layout.block, layout.layers, layout.of_layer}};
  for (const GgufStack& stack : layout.stacks)
    all.push_back({stack.gguf, stack.layers, stack.names});
  return all;
}

}  // namespace

std::string hf_name_of(const GgufLayout& layout, const std::string& ggml_name) {
  if (const auto of_layer = split_layer(ggml_name, layout.block))
    if (const auto hf = look_up(layout.whole, of_layer->second); !hf.empty())
      return fmt::format("{}{}.{}", layout.layers, of_layer->first, hf);
  const size_t dot = ggml_name.rfind('.');
  if (dot == std::string::npos) return "";
  const std::string_view base = std::string_view(ggml_name).substr(0, dot);
  const std::string suffix = ggml_name.substr(dot);  // ".weight", ".bias"
  if (suffix != ".weight" && suffix != ".bias") return "";
  for (const std::vector<GgufName>* names : {&layout.once, &layout.classifier})
    if (const auto hf = look_up(*names, base); !hf.empty()) return std::string(hf) + suffix;
  for (const Layers& stack : layers_of(layout)) {
    const auto of_layer = split_layer(base, stack.gguf);
    if (!of_layer) continue;
    const auto hf = look_up(stack.names, of_layer->second);
    return hf.empty() ? "" : fmt::format("{}{}.{}{}", stack.weights, of_layer->first, hf, suffix);
  }
  return "";
}

const GgufPart* part_of_file(const GgufLayout& layout, const std::string& ggml_name) {
  const auto of_layer = split_layer(ggml_name, kBlock);
  if (!of_layer) return nullptr;
  for (const GgufPart& part : layout.parts)
    if (part.gguf == of_layer->second) return &part;
  return nullptr;
}

std::vector<const GgufPart*> parts_of_weight(const GgufLayout& layout, const std::string& hf_name) {
  std::vector<const GgufPart*> found;
  const auto of_layer = split_layer(hf_name, layout.layers);
  if (!of_layer) return found;
  for (const GgufPart& part : layout.parts)
    if (part.weight == of_layer->second) found.push_back(&part);
  return found;
}

std::string hf_part_name(const GgufLayout& layout, const GgufPart& part,
                         const std::string& ggml_name) {
  return fmt::format("{}{}.{}", layout.layers, split_layer(ggml_name, kBlock)->first, part.weight);
}

std::string ggml_part_name(const GgufLayout& layout, const GgufPart& part,
                           const std::string& hf_name) {
  return fmt::format("{}{}.{}", kBlock, split_layer(hf_name, layout.layers)->first, part.gguf);
}

std::pair<const GgufList*, int64_t> list_of_weight(const GgufLayout& layout,
                                                   const std::string& hf_name) {
  if (const auto of_layer = split_layer(hf_name, layout.layers))
    for (const GgufList& list : layout.lists)
      if (list.weight == of_layer->second) return {&list, of_layer->first};
  return {nullptr, 0};
}

GgufHeads heads_of(const GgufLayout& layout,
                   const std::function<int64_t(const std::string& key)>& value) {
  const auto by_name = [&](const char* name) {
    for (const GgufKey& key : layout.keys)
      if (key.gguf == name && !key.config.empty()) return value(key.config);
    return int64_t{0};
  };
  GgufHeads h{by_name("attention.head_count"), by_name("attention.head_count_kv")};
  if (h.keys == 0) h.keys = h.queries;
  h.state_values = by_name("ssm.time_step_rank");
  h.state_keys = by_name("ssm.group_count");
  h.state_rows = 2 * h.state_keys * by_name("ssm.state_size");
  return h;
}

std::vector<GgufRun> runs_of_state(const GgufHeads& of) {
  std::vector<GgufRun> runs;
  if (of.state_keys < 1 || of.state_values % of.state_keys != 0) return runs;
  const int64_t keys = of.state_rows / (2 * of.state_keys),
                values = of.state_values / of.state_keys * keys;
  const int64_t sizes[] = {keys, keys, values, values};
  int64_t start = 0, before = 0;  // of the piece: in the group, and in its tensor
  for (size_t piece = 0; piece < std::size(sizes); ++piece) {
    const bool gates = piece + 1 == std::size(sizes);
    if (gates) before = 0;
    for (int64_t g = 0; g < of.state_keys; ++g)
      runs.push_back(
          {gates, before + g * sizes[piece], g * 2 * (keys + values) + start, sizes[piece]});
    start += sizes[piece];
    before += of.state_keys * sizes[piece];
  }
  return runs;
}

int64_t rows_of_runs(const std::vector<GgufRun>& runs, std::optional<bool> of_gates) {
  int64_t rows = 0;
  for (const GgufRun& run : runs)
    if (!of_gates || run.of_gates == *of_gates) rows += run.count;
  return rows;
}

std::pair<const GgufStateRows*, int64_t> state_rows_in(const GgufLayout& layout,
                                                       const std::string& name, bool of_file) {
  if (const auto of_layer = split_layer(name, of_file ? layout.block : layout.layers))
    for (const GgufStateRows& rows : layout.state_rows)
      if (of_file ? rows.mixed == of_layer->second || rows.gates == of_layer->second
                  : rows.weight == of_layer->second)
        return {&rows, of_layer->first};
  return {nullptr, 0};
}

bool GgufRowOrder::fits() const {
  if (kind == Kind::same) return true;
  if (queries < 1) return false;
  if (kind == Kind::pairs) return rows % (2 * queries) == 0;
  if (keys < 1 || queries % keys != 0) return false;
  if (kind == Kind::tiles) return rows > fixed && (rows - fixed) % queries == 0;
  return rows % (queries + 2 * keys) == 0;
}

int64_t GgufRowOrder::hf_row(int64_t r) const {
  if (kind == Kind::same || r < fixed) return r;
  if (kind == Kind::pairs) {
    const int64_t size = rows / queries, head = r / size, within = r % size;
    return head * size + within % 2 * (size / 2) + within / 2;
  }
  const int64_t each = queries / keys;
  if (kind == Kind::tiles) {
    const int64_t size = (rows - fixed) / queries, head = (r - fixed) / size;
    return fixed + (head % keys * each + head / keys) * size + (r - fixed) % size;
  }
  const int64_t size = rows / (queries + 2 * keys);
  const int64_t head = r / size, row = r % size;  // `head` of all queries, then keys, then values
  const int64_t key = head - queries;
  const int64_t place = head < queries ? head / each * (each + 2) + head % each
                        : key < keys   ? key * (each + 2) + each
                                       : (key - keys) * (each + 2) + each + 1;
  return place * size + row;
}

int64_t GgufRowOrder::gguf_row(int64_t r) const {
  if (kind == Kind::same || r < fixed) return r;
  if (kind == Kind::pairs) {
    const int64_t size = rows / queries, head = r / size, within = r % size, half = size / 2;
    return head * size + within % half * 2 + within / half;
  }
  const int64_t each = queries / keys;
  if (kind == Kind::tiles) {
    const int64_t size = (rows - fixed) / queries, head = (r - fixed) / size;
    return fixed + (head % each * keys + head / each) * size + (r - fixed) % size;
  }
  const int64_t size = rows / (queries + 2 * keys);
  const int64_t place = r / size, group = place / (each + 2), within = place % (each + 2);
  const int64_t head =
      within < each ? group * each + within : queries + (within - each) * keys + group;
  return head * size + r % size;
}

namespace {

using Kind = GgufRowOrder::Kind;

GgufRowOrder tiles_of(const GgufHeads& of, int64_t rows, int64_t fixed) {
  if (of.state_keys == of.state_values) return {};
  return {Kind::tiles, rows, of.state_values, of.state_keys, fixed};
}

}  // namespace

GgufRowOrder row_order(const GgufLayout& layout, const std::string& hf_name, int64_t rows,
                       const GgufHeads& of) {
  for (const GgufTiles& tiles : layout.tiles)
    if (hf_name.ends_with(tiles.ending) && tiles.where != GgufTiles::Where::columns)
      return tiles_of(of, rows, tiles.where == GgufTiles::Where::rows_of_value ? of.state_rows : 0);
  if (has_ending(hf_name, layout.by_group)) return {Kind::groups, rows, of.queries, of.keys};
  if (!layout.interleaves_heads) return {};
  if (hf_name.find(".q_proj.") != hf_name.npos) return {Kind::pairs, rows, of.queries, of.queries};
  if (hf_name.find(".k_proj.") != hf_name.npos) return {Kind::pairs, rows, of.keys, of.keys};
  return {};
}

GgufRowOrder column_order(const GgufLayout& layout, const std::string& hf_name, int64_t columns,
                          const GgufHeads& of) {
  for (const GgufTiles& tiles : layout.tiles)
    if (hf_name.ends_with(tiles.ending) && tiles.where == GgufTiles::Where::columns)
      return tiles_of(of, columns, 0);
  return {};
}

bool is_rate(const GgufLayout& layout, const std::string& hf_name) {
  return has_ending(hf_name, layout.rates);
}

std::string ggml_name_of(const GgufLayout& layout, const std::string& hf_name) {
  if (const auto of_layer = split_layer(hf_name, layout.layers))
    if (const auto ggml = look_back(layout.whole, of_layer->second); !ggml.empty())
      return fmt::format("{}{}.{}", layout.block, of_layer->first, ggml);
  const size_t dot = hf_name.rfind('.');
  if (dot == std::string::npos) return "";
  const std::string_view base = std::string_view(hf_name).substr(0, dot);
  const std::string suffix = hf_name.substr(dot);
  for (const std::vector<GgufName>* names : {&layout.once, &layout.classifier})
    if (const auto ggml = look_back(*names, base); !ggml.empty()) return std::string(ggml) + suffix;
  for (const Layers& stack : layers_of(layout)) {
    const auto of_layer = split_layer(base, stack.weights);
    if (!of_layer) continue;
    const auto ggml = look_back(stack.names, of_layer->second);
    return ggml.empty() ? "" : fmt::format("{}{}.{}{}", stack.gguf, of_layer->first, ggml, suffix);
  }
  return "";
}

bool is_turned(const GgufLayout& layout, const std::string& hf_name) {
  return has_ending(hf_name, layout.turned);
}

bool is_plus_one(const GgufLayout& layout, const std::string& hf_name) {
  return has_ending(hf_name, layout.plus_one);
}

int64_t left_out_axis(const GgufLayout& layout, const std::string& hf_name) {
  for (const GgufAxis& left : layout.left_out)
    if (hf_name.ends_with(left.ending)) return left.axis;
  return -1;
}

bool is_of_rotation(const std::string& ggml_name) {
  return ggml_name == kRopeFreqs || ggml_name == kShortFactors || ggml_name == kLongFactors;
}

}  // namespace hone
