#include "operate/registry/database.h"

#include "base/core/text.h"
#include "base/core/url.h"
#include "base/store/http.h"
#include "operate/registry/errors.h"

namespace hone {

std::string sql_text(const SqlValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return "";
}

int64_t sql_number(const SqlValue& value) {
  const auto* number = std::get_if<int64_t>(&value);
  return number != nullptr ? *number : 0;
}

double registry_timeout_seconds() {
  return static_cast<double>(environment_number("HONE_REGISTRY_TIMEOUT", 30));
}

Result<std::unique_ptr<Database>> Database::open(const std::string& address) {
  constexpr std::string_view kSqlite = "sqlite://";
  if (address.starts_with(kSqlite)) {
    // The forms of SQLAlchemy and MLflow: sqlite:///a.db is the path a.db, sqlite:////a.db the path
    // /a.db.
    const std::string path = address.substr(kSqlite.size());
    if (path.starts_with('/') && path.size() > 1) return open_sqlite(path.substr(1));
  } else if (address.starts_with("postgresql://") || address.starts_with("postgres://")) {
    return open_postgres(address);
  } else if (!address.empty() && !is_url(address)) {
    return open_sqlite(address);
  }
  return Error(err::kRegistryAddress,
               fmt::format("a registry cannot be at '{}'", address.substr(0, address.find("://"))))
      .todo(
          "give a path, sqlite:///relative.db, sqlite:////folder/absolute.db or "
          "postgresql://host/database");
}

Result<std::vector<SqlValues>> Database::run(std::string_view sql, const SqlValues& values) {
  const std::lock_guard lock(mutex_);
  return execute(sql, values);
}

Status Database::transaction(const std::function<Status()>& body, bool writes) {
  const std::lock_guard lock(mutex_);
  if (depth_ > 0) return body();
  HONE_TRY(begin(writes));
  ++depth_;
  Status done = body();
  --depth_;
  if (done.ok()) {
    auto committed = run("COMMIT");
    if (committed.ok()) return Ok{};
    done = std::move(committed.error());
  }
  (void)run("ROLLBACK");  // where the database has already taken everything back this is refused
  return done;
}

}  // namespace hone
