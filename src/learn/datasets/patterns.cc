#include "learn/datasets/patterns.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/core/text.h"
#include "learn/data/formats/rows.h"
#include "learn/datasets/errors.h"

namespace hone {
namespace {

struct Known {
  std::string_view extension, format;
};
// Those of other kinds are here so that a folder of pictures with a metadata.csv is not taken
// for a csv data set.
constexpr Known kExtensions[] = {
    {"csv", "csv"},
    {"tsv", "csv"},
    {"json", "json"},
    {"jsonl", "json"},
    {"ndjson", "json"},
    {"parquet", "parquet"},
    {"geoparquet", "parquet"},
    {"gpq", "parquet"},
    {"arrow", "arrow"},
    {"txt", "text"},
    {"conll", "conll"},
    {"conllu", "conll"},
    {"tar", "webdataset"},
    {"xml", "xml"},
    {"hdf5", "hdf5"},
    {"h5", "hdf5"},
    {"lance", "lance"},
    {"vortex", "vortex"},
    {"bmp", "imagefolder"},
    {"gif", "imagefolder"},
    {"jpeg", "imagefolder"},
    {"jpg", "imagefolder"},
    {"png", "imagefolder"},
    {"tif", "imagefolder"},
    {"tiff", "imagefolder"},
    {"webp", "imagefolder"},
    {"aiff", "audiofolder"},
    {"flac", "audiofolder"},
    {"mp3", "audiofolder"},
    {"ogg", "audiofolder"},
    {"opus", "audiofolder"},
    {"wav", "audiofolder"},
    {"avi", "videofolder"},
    {"mkv", "videofolder"},
    {"mov", "videofolder"},
    {"mp4", "videofolder"},
    {"pdf", "pdffolder"},
    {"zip", "zip"},
};
std::string_view format_of_extension(std::string_view extension) {
  for (const Known& k : kExtensions) {
    if (k.extension == extension) return k.format;
  }
  return "";
}

std::string base_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// All that is between and after the dots of a name: "a.csv.gz" -> csv, gz.
std::vector<std::string> suffixes(const std::string& path) {
  std::vector<std::string> parts = split(base_name(path), '.');
  parts.erase(parts.begin());
  return parts;
}

// Whether `c` is in the set whose '[' is at pattern[at]; `at` moves past its ']'. Nothing when
// the bracket is never closed and so means itself.
std::optional<bool> in_set(std::string_view pattern, size_t& at, char c) {
  size_t i = at + 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  const size_t close = pattern.find(']', i + 1);
  if (close == std::string_view::npos) return std::nullopt;
  bool found = false;
  while (i < close) {
    if (i + 2 < close && pattern[i + 1] == '-') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 3;
    } else {
      found = found || pattern[i] == c;
      ++i;
    }
  }
  at = close + 1;
  return found != negated;
}

// One part of a path against one part of a glob.
bool part_matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    size_t next = p;
    bool good = false;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    if (p < pattern.size()) {
      std::optional<bool> set;
      if (pattern[p] == '[') set = in_set(pattern, next, text[t]);
      if (!set) next = p + 1;
      good = set ? *set : pattern[p] == '?' || pattern[p] == text[t];
    }
    if (good) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

using Parts = std::span<const std::string>;
// From the last part of the glob to the first: rest[j] says whether what follows matches
// path[j...].
bool parts_match(Parts glob, Parts path) {
  const size_t n = path.size();
  std::vector<char> rest(n + 1, 0);
  rest[n] = 1;
  for (size_t i = glob.size(); i-- > 0;) {
    if (glob[i] == "**") {
      const bool last = i + 1 == glob.size();
      for (size_t j = n; j-- > 0;) rest[j] = last || rest[j] || rest[j + 1];
      if (last) rest[n] = 0;
    } else {
      for (size_t j = 0; j < n; ++j) rest[j] = rest[j + 1] && part_matches(glob[i], path[j]);
      rest[n] = 0;
    }
  }
  return rest[0];
}

bool is_hidden(const std::string& part) {
  return part.starts_with('.') && part.find_first_not_of('.') != std::string::npos;
}
bool is_special(const std::string& part) { return part.starts_with("__"); }

// The parts that a glob has to name before they count.
bool is_unasked(Parts glob, Parts path) {
  auto folders = [](Parts parts) { return parts.first(parts.size() - 1); };
  auto count = [](Parts parts, bool (*f)(const std::string&)) {
    return std::count_if(parts.begin(), parts.end(), f);
  };
  return count(glob, is_hidden) != count(path, is_hidden) ||
         count(folders(glob), is_special) != count(folders(path), is_special);
}

constexpr std::string_view kNotData[] = {"README.md",         "config.json",
                                         "dataset_info.json", "dataset_infos.json",
                                         "dummy_data.zip",    "dataset_dict.json"};

constexpr std::string_view kNamedSplits[] = {"train", "validation", "test"};
const std::vector<std::string_view>& keywords(std::string_view split) {
  static const std::map<std::string_view, std::vector<std::string_view>> words = {
      {"train", {"train", "training"}},
      {"validation", {"validation", "valid", "dev", "val"}},
      {"test", {"test", "testing", "eval", "evaluation"}}};
  return words.at(split);
}

constexpr std::string_view kShard = "-[0-9][0-9][0-9][0-9][0-9]-of-[0-9][0-9][0-9][0-9][0-9]*.*";

// "train" of "train-00000-of-00005.parquet": the part before the last such number.
std::string split_of_shard(const std::string& name) {
  for (size_t at = name.size(); at-- > 0;) {
    if (part_matches(kShard, std::string_view(name).substr(at))) return name.substr(0, at);
  }
  return name;
}

// Words joined by dots.
bool is_split_name(const std::string& name) {
  for (const std::string& word : split(name, '.')) {
    if (word.empty() || !std::all_of(word.begin(), word.end(), [](unsigned char c) {
          return std::isalnum(c) || c == '_' || c >= 0x80;
        }))
      return false;
  }
  return true;
}

}  // namespace

Result<std::vector<std::string>> matching_files(const std::string& glob,
                                                std::span<const std::string> files,
                                                bool data_only) {
  std::vector<std::string> parts, found;
  for (std::string& part : split(glob, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "**" && part.find("**") != std::string::npos) {
      return Error(err::kDatasetPattern,
                   fmt::format("'{}': '**' stands for whole folders only", glob))
          .todo("write it between slashes, as in 'data/**/*.csv'");
    }
    parts.push_back(std::move(part));
  }
  if (parts.empty()) return found;
  for (const std::string& file : files) {
    const std::vector<std::string> path = split(file, '/');
    if (!parts_match(parts, path) || is_unasked(parts, path)) continue;
    const std::string& name = path.back();
    if (name != parts.back() &&
        std::find(std::begin(kNotData), std::end(kNotData), name) != std::end(kNotData))
      continue;
    const std::vector<std::string> ends = suffixes(file);
    if (data_only && std::all_of(ends.begin(), ends.end(), [](const std::string& e) {
          return format_of_extension(e).empty();
        }))
      continue;
    found.push_back(file);
  }
  return found;
}

Result<SplitPatterns> default_patterns(std::span<const std::string> files) {
  std::set<std::string> shards;
  for (const std::string& file :
       HONE_TRY(matching_files("data/*" + std::string(kShard), files, false)))
    shards.insert(split_of_shard(base_name(file)));
  SplitPatterns out;
  auto add_shards = [&](const std::string& split) {
    out.push_back({split, {"data/" + split + std::string(kShard)}});
  };
  for (const std::string_view split : kNamedSplits) {
    if (shards.erase(std::string(split)) > 0) add_shards(std::string(split));
  }
  for (const std::string& split : shards) {
    if (!is_split_name(split)) {
      return Error(err::kDatasetEmpty,
                   fmt::format("'data/{}-00000-of-...': '{}' is not the name of a "
                               "split",
                               split, split))
          .todo(
              "split names are words of letters, digits and '_'; rename the files, or say in the "
              "README.md header which files are which split");
    }
    add_shards(split);
  }
  if (!out.empty()) return out;

  constexpr std::string_view kEdge = "[-._ 0-9]";
  for (const bool folders : {true, false}) {
    for (const std::string_view split : kNamedSplits) {
      std::vector<std::string> globs;
      for (const std::string_view k : keywords(split)) {
        if (folders) {
          globs.insert(globs.end(),
                       {fmt::format("**/{}/**", k), fmt::format("**/{}{}*/**", k, kEdge),
                        fmt::format("**/*{}{}/**", kEdge, k),
                        fmt::format("**/*{}{}{}*/**", kEdge, k, kEdge)});
        } else {
          globs.insert(globs.end(), {fmt::format("**/{}{}*", k, kEdge),
                                     fmt::format("**/*{}{}{}*", kEdge, k, kEdge)});
        }
      }
      for (const std::string& glob : globs) {
        if (HONE_TRY(matching_files(glob, files, false)).empty()) continue;
        out.push_back({std::string(split), globs});
        break;
      }
    }
    if (!out.empty()) return out;
  }
  if (!HONE_TRY(matching_files("**", files, false)).empty()) out.push_back({"train", {"**"}});
  return out;
}

std::string common_format(std::span<const std::string> files) {
  struct Count {
    int64_t data = 0, metadata = 0;
  };
  std::map<std::string, Count> counts;
  for (const std::string& file : files) {
    const std::string name = base_name(file);
    const bool metadata =
        name == "metadata.csv" || name == "metadata.jsonl" || name == "metadata.parquet";
    for (const std::string& suffix : suffixes(file)) {
      Count& count = counts[to_lower(suffix)];
      ++(metadata ? count.metadata : count.data);
    }
  }
  constexpr std::string_view kFavourites[] = {"csv",    "json",  "jsonl",  "arrow",
                                              "vortex", "lance", "parquet"};
  std::tuple<bool, int64_t, ptrdiff_t, std::string> best;
  std::string format;
  for (const auto& [extension, count] : counts) {
    const std::string_view of = format_of_extension(extension);
    if (of.empty()) continue;
    const auto* favourite = std::find(std::begin(kFavourites), std::end(kFavourites), extension);
    const ptrdiff_t rank =
        favourite == std::end(kFavourites) ? 0 : 1 + (favourite - std::begin(kFavourites));
    for (const bool data : {true, false}) {
      const int64_t n = data ? count.data : count.metadata;
      const auto key = std::make_tuple(data, n, rank, extension);
      if (n > 0 && (format.empty() || key > best)) {
        best = key;
        format = of;
      }
    }
  }
  return format;
}

bool is_of_format(const std::string& file, const std::string& format) {
  const std::vector<std::string> ends = suffixes(file);
  return std::any_of(ends.begin(), ends.end(), [&](const std::string& e) {
    const std::string_view of = format_of_extension(e);
    return of == format || of == "zip";
  });
}

bool hone_reads(const std::string& format) {
  return std::any_of(std::begin(kExtensions), std::end(kExtensions), [&](const Known& k) {
    return k.format == format && find_format(fmt::format("x.{}", k.extension), {}).ok();
  });
}

}  // namespace hone
