-- Why nobody could perform an effect as things were, for people; null where it only has to wait.
ALTER TABLE outbox ADD COLUMN failed TEXT;
