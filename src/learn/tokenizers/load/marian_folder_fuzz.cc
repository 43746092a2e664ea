// Any bytes as tokenizer_config.json, vocab.json and target_vocab.json of a Marian folder (a zero
// byte between them): an error or tokenizers of both sides that encode and decode.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "learn/tokenizers/load/load.h"

namespace {
namespace fs = std::filesystem;

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<long>(bytes.size()));
}

// A Unigram model of these pieces, the first one unknown.
std::string model_of(std::initializer_list<std::string_view> pieces) {
  std::string bytes;
  for (const std::string_view text : pieces) {
    const bool unknown = bytes.empty();
    bytes += '\x0a';
    bytes += static_cast<char>(text.size() + 4);
    bytes += '\x0a';
    bytes += static_cast<char>(text.size());
    bytes += text;
    bytes += '\x18';
    bytes += unknown ? '\x02' : '\x01';
  }
  return bytes;
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("hone_marian_fuzz_" + std::to_string(getpid()));
  Folder() {
    fs::create_directories(path);
    write(path / "source.spm",
          model_of({"<unk>", "\xe2\x96\x81", "\xe2\x96\x81the", "k", "in", "g"}));
    write(path / "target.spm", model_of({"<unk>", "\xe2\x96\x81", "ki", "n", "g", "t"}));
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  static const Folder folder;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"tokenizer_config.json", "vocab.json", "target_vocab.json"}) {
    const size_t stop = std::min(rest.find('\0'), rest.size());
    write(folder.path / name, rest.substr(0, stop));
    rest.remove_prefix(std::min(stop + 1, rest.size()));
  }
  for (const bool targets : {false, true}) {
    auto t = load_tokenizer(folder.path.string(), {.targets = targets});
    if (!t.ok()) continue;
    const auto ids = t->encode(">>fr<< the king </s>\xff<pad> \xe4\xb8\xad");
    for (const int32_t id : ids)
      if (id < 0 || id >= t->id_limit()) __builtin_trap();
    (void)t->decode(ids);
    (void)t->decode(ids, true);
    (void)t->encode_pair("the", ">>fr<<");
  }
  return 0;
}
