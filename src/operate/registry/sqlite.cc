// SQLite in write-ahead mode: a reader never waits for a writer, and a killed process leaves the
// state of the last commit.
#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/core/clock.h"
#include "operate/registry/database.h"
#include "operate/registry/errors.h"

namespace hone {
namespace {

class Sqlite final : public Database {
 public:
  explicit Sqlite(const std::string& path) : Database(path) {}
  ~Sqlite() override { sqlite3_close(handle_); }

  Status connect() {
    // A folder that is missing is made; why it cannot be is in the message of sqlite3_open below.
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::path(shown()).parent_path();
    if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (const int code = sqlite3_open_v2(shown().c_str(), &handle_, flags, nullptr))
      return failed(code);
    sqlite3_extended_result_codes(handle_, 1);
    sqlite3_busy_timeout(handle_, static_cast<int>(registry_timeout_seconds() * 1000));
    // Commits survive a power loss. Versions, aliases and models refer to each other.
    HONE_TRY(run("PRAGMA synchronous=FULL"));
    HONE_TRY(run("PRAGMA foreign_keys=ON"));
    return write_ahead();
  }

  Result<bool> has_table(const std::string& name) override {
    return !HONE_TRY(run("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", {name}))
                .empty();
  }

 private:
  // If several programs create the same file, SQLite refuses all but one without waiting for it.
  Status write_ahead() {
    constexpr double kPause = 0.02;
    const double end = system_clock().seconds() + registry_timeout_seconds();
    for (;;) {
      auto set = run("PRAGMA journal_mode=WAL");
      if (set.ok()) return Ok{};
      const bool locked = set.error().is(err::kRegistryLocked);
      if (!locked || system_clock().seconds() > end) return std::move(set.error());
      system_clock().sleep(kPause);
    }
  }

  Result<std::vector<SqlValues>> execute(std::string_view sql, const SqlValues& values) override {
    sqlite3_stmt* statement = nullptr;
    int code =
        sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
    const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> owner(statement, sqlite3_finalize);
    if (code != SQLITE_OK) return failed(code);
    HONE_BUG_IF(static_cast<size_t>(sqlite3_bind_parameter_count(statement)) != values.size(),
                "{} values for: {}", values.size(), sql);
    for (size_t i = 0; i < values.size(); ++i) bind(statement, static_cast<int>(i + 1), values[i]);
    std::vector<SqlValues> rows;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
      SqlValues row;
      for (int c = 0; c < sqlite3_column_count(statement); ++c) row.push_back(column(statement, c));
      rows.push_back(std::move(row));
    }
    if (code != SQLITE_DONE) return failed(code);
    return rows;
  }

  Status begin(bool writes) override {
    HONE_TRY(run(writes ? "BEGIN IMMEDIATE" : "BEGIN", {}));
    return Ok{};
  }

  static void bind(sqlite3_stmt* statement, int at, const SqlValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value))
      sqlite3_bind_int64(statement, at, *number);
    else if (const auto* real = std::get_if<double>(&value))
      sqlite3_bind_double(statement, at, *real);
    else if (const auto* text = std::get_if<std::string>(&value))
      sqlite3_bind_text(statement, at, text->data(), static_cast<int>(text->size()), SQLITE_STATIC);
  }

  static SqlValue column(sqlite3_stmt* statement, int c) {
    switch (sqlite3_column_type(statement, c)) {
      case SQLITE_INTEGER:
        return int64_t{sqlite3_column_int64(statement, c)};
      case SQLITE_FLOAT:
        return sqlite3_column_double(statement, c);
      case SQLITE_NULL:
        return std::monostate{};
      default:
        break;
    }
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, c));
    return std::string(text, static_cast<size_t>(sqlite3_column_bytes(statement, c)));
  }

  Error failed(int code) const {
    const int kind = code & 0xff;
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
      return Error(err::kRegistryLocked,
                   fmt::format("another program has kept the registry locked for {} s",
                               registry_timeout_seconds()))
          .at(shown())
          .todo(
              "end that program (fuser names it), or wait longer with "
              "HONE_REGISTRY_TIMEOUT=seconds");
    std::string why = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    const int system = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
    const bool at_file = kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR || kind == SQLITE_FULL;
    if (at_file && system != 0) why += fmt::format(" ({})", std::strerror(system));
    Error error =
        Error(err::kRegistryFailed, fmt::format("the registry says: {}", why)).at(shown());
    if (kind == SQLITE_NOTADB || kind == SQLITE_CORRUPT)
      return std::move(error).todo(
          "this file is not an SQLite database, or is damaged: name another with --registry");
    if (kind == SQLITE_FULL || kind == SQLITE_IOERR)
      return std::move(error).todo(
          "make room on the disk and type the command again: nothing was changed");
    return std::move(error).todo("check that this account may write the file and its folder");
  }

  sqlite3* handle_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Database>> open_sqlite(const std::string& path) {
  auto database = std::make_unique<Sqlite>(path);
  HONE_TRY(database->connect());
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace hone
