#include "operate/reporters/projector_files.h"

#include <algorithm>
#include <iterator>

#include "base/store/private_file.h"
#include "base/store/store.h"

namespace hone {
namespace {

std::string tensors_text(const LoggedEmbeddings& e) {
  std::string text;
  for (int64_t row = 0; row < e.rows(); ++row)
    for (int64_t i = 0; i < e.width; ++i)
      fmt::format_to(std::back_inserter(text), "{:.6g}{}",
                     e.values[static_cast<size_t>(row * e.width + i)],
                     i + 1 == e.width ? '\n' : '\t');
  return text;
}

void add_cells(std::string& text, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    std::string cell = cells[i];
    std::replace_if(
        cell.begin(), cell.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
    text += (i > 0 ? "\t" : "") + cell;
  }
  text += '\n';
}

std::string metadata_text(const LoggedEmbeddings& e) {
  std::string text;
  add_cells(text, e.columns);
  for (const auto& cells : e.labels) add_cells(text, cells);
  return text;
}

std::string config_text(const LoggedEmbeddings& e) {
  std::string sprite;
  if (!e.sprite.empty())
    sprite = fmt::format(
        "  sprite {{\n    image_path: \"projector/sprite.png\"\n"
        "    single_image_dim: {0}\n    single_image_dim: {0}\n  }}\n",
        e.image_side);
  return fmt::format(
      "embeddings {{\n  tensor_name: \"eval/features\"\n  tensor_path: \"projector/tensors.tsv\"\n"
      "  metadata_path: \"projector/metadata.tsv\"\n{}}}\n",
      sprite);
}

}  // namespace

Status write_projector_files(const std::string& folder, const LoggedEmbeddings& e) {
  HONE_TRY(file_store().make_dirs(folder + "/projector"));
  const auto write = [&](const char* name, const std::string& text) -> Status {
    const std::string path = folder + "/" + name;
    HONE_TRY(file_store().write(path, text));
    close_to_others(path);
    return Ok{};
  };
  HONE_TRY(write("projector/tensors.tsv", tensors_text(e)));
  HONE_TRY(write("projector/metadata.tsv", metadata_text(e)));
  if (!e.sprite.empty()) HONE_TRY(write("projector/sprite.png", e.sprite));
  return write("projector_config.pbtxt", config_text(e));
}

}  // namespace hone
