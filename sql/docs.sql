-- Every view, column and function of the extension has a comment. The server is asked, not the
-- script, so that nothing escapes.
CREATE EXTENSION ckptflush;

CREATE VIEW members AS
SELECT classid, objid, pg_describe_object(classid, objid, 0) AS object
FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
    AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'ckptflush');

SELECT count(*) > 10 AS has_members FROM members;

SELECT object AS without_comment
FROM members
WHERE classid <> 'pg_type'::regclass -- the row type of a view is the view
    AND obj_description(objid, classid::regclass::name) IS NULL
ORDER BY 1;

SELECT object, attname AS without_comment
FROM members JOIN pg_attribute ON attrelid = objid AND attnum > 0 AND NOT attisdropped
WHERE classid = 'pg_class'::regclass AND col_description(objid, attnum) IS NULL
ORDER BY object, attnum;

DROP VIEW members;
DROP EXTENSION ckptflush;
