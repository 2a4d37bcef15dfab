import type { Database } from 'better-sqlite3';
import { ensureMachine } from './projects.js';

/** The host name that a machine had last, by its row id. */
export function machineName(db: Database, machine: number): string {
  return db.prepare<[number], string>('SELECT name FROM machine WHERE id = ?').pluck().get(machine) ?? 'localhost';
}

/** Row id of a machine that is known by nothing but the name that a person gave it. */
export function namedMachine(db: Database, name: string): number {
  return ensureMachine(db, { machineId: `named:${name}`, name });
}

/**
 * Row id of what stands for a machine where memory comes from a home that several people shared.
 * @param key tells it from every other one, for good
 * @param name for people
 */
export function sharedHome(db: Database, key: string, name: string): number {
  return ensureMachine(db, { machineId: `shared:${key}`, name });
}
