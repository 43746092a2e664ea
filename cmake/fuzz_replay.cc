// fuzz_replay FOLDER   replays the corpora of a room's fuzzers, FOLDER/<fuzzer>/*, and the empty input
// through their libFuzzer entry points. Ends with 0 when no input crashed.
#include "fuzz_replay.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) return 2;
  int count = 0;
  for (const FuzzTarget& fuzzer : all_fuzz_targets()) {
    const fs::path corpus = fs::path(argv[1]) / fuzzer.corpus;
    if (!fs::exists(corpus)) {
      std::fprintf(stderr, "no corpus folder %s\n", corpus.c_str());
      return 1;
    }
    std::printf("%s\n", fuzzer.corpus);
    std::fflush(stdout);  // so that a crash shows whose it is
    fuzzer.input(nullptr, 0);
    ++count;
    for (const auto& entry : fs::recursive_directory_iterator(corpus)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
      fuzzer.input(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
      ++count;
    }
  }
  std::printf("%d inputs replayed\n", count);
}
